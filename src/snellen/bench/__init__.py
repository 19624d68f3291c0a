"""The bench: data, models, regimes, a budget -> resumable runs and one decision."""
