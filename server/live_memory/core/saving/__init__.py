"""What survives a restart: the saved form of a memory, the records of its journal, old forms."""
