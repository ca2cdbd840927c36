"""What decides: pure rules, standard library only."""
