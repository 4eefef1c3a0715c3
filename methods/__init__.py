"""One file, one method. Copy ``_template.py`` with ``python -m benchmark new-method NAME``."""
