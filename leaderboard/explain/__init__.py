"""Runs in MLflow that explain themselves: differences with intervals, flips, figures, views, a board of methods."""
