"""Which box notation a model really speaks, and whether the declared one fits. PROTOCOLS section 4."""
