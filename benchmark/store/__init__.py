"""Finished cells, kept: on disk until MLflow has them, then in MLflow."""
