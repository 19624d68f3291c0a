"""Output formats: one file each, with read() and write(). `table.py` lists them."""
