"""Regimes: templates, option orders, examples, class rules."""
