"""Controlled stimuli: worlds (plain data), their pictures (a pure function), and the questions asked about them."""
