"""Examination of datasets: faults, shared molecules, families, and neighbours of molecules."""
