"""Intervals, paired tests, agreement, psychometrics, power."""
