"""Storage of finished cells: on disk until MLflow has recorded them, then in MLflow."""
