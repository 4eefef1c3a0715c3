"""Cells, wherever they are kept, sorted into datasets and methods."""
