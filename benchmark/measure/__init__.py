"""What is measured on predictions: pure functions of arrays, fractions, never percent."""
