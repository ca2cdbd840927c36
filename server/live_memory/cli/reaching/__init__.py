"""The running server, seen from a command: who holds the data folder, who answers, what it says."""
