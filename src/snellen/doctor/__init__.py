"""What is wrong with data files, and what it does to the numbers."""
