"""Measures of predictions: pure functions of arrays that return fractions, never percentages."""
