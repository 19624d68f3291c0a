"""Intervals, paired tests, agreement, psychometric curves, power, and the diagnosis of biases in answers."""
