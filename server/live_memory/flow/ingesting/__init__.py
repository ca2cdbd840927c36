"""From what a host tells us to what memory holds: nothing here ever calls a model."""
