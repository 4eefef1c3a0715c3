"""The churn of any model, from a table of its predictions: nothing is trained or tracked."""
