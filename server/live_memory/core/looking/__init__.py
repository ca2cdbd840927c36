"""What is looked for in files that the index does not know yet."""
