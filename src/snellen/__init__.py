"""Snellen: the eye exam for vision models."""

__version__ = "0.1.0"
