"""Finds what silently changes a score, says where and what it does to the numbers, and repairs it into a new place."""
