"""One file = one protocol: composes stages into a task and says how its answers are scored."""
