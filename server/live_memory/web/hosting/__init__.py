"""How the application is run: its connections, its end, what libraries log meanwhile."""
