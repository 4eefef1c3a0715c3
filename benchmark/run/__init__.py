"""Training of a grid of methods and datasets, up to finished cells."""
