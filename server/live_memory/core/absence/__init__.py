"""What may be said not to be there, and what is said of what was not looked at."""
