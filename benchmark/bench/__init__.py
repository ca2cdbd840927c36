"""Measures a server that offers `ask_live_memory`, from outside; it never imports the server."""
