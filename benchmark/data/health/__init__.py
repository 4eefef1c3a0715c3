"""Examination of a dataset before anything is trained on it."""
