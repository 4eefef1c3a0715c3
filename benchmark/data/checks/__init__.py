"""Examination of datasets: faults, shared molecules, families, neighbours, and words for what is missing."""
