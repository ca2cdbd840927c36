"""Whether an answer shows what has to be seen, and the answers of others in the same form."""
