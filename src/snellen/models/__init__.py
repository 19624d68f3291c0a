"""Anything that answers prompts: servers, libraries, files, observers, baselines."""
