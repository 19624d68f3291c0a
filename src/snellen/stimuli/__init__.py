"""Worlds -> pictures and questions: controlled stimuli, as plain data rendered on demand."""
