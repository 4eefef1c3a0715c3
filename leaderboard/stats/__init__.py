"""Statistics as pure functions of arrays: no MLflow, no files."""
