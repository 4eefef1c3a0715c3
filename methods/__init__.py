"""Remedies, one per file, found by their decorator."""
