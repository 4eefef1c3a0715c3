"""Comparison of our numbers with published ones: the paper's, or those in a file of the same form."""
