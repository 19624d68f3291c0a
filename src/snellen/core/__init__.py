"""The nouns: everything else in Snellen is written in terms of these. Read `stages.py` first."""
