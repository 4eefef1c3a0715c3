"""From a grid of methods and datasets to finished cells."""
