"""Statistics as pure functions of arrays, without MLflow or files."""
