"""Finding again what agents and people told each other."""
