"""The only loop, and the store that it writes."""
