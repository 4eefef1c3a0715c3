"""The commands of ``python -m benchmark``."""
