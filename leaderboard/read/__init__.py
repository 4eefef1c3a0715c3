"""Readers of cells, wherever they are kept, and their arrangement into datasets and methods."""
