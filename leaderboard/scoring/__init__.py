"""The churn of one's own model, from a table of its predictions: nothing is trained, nothing is tracked."""
