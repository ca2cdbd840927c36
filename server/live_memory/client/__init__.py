"""What runs beside the agent: the standard library alone, on any Python from 3.9 on."""
