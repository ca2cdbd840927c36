"""How the companion answers one question: its loop, its tools, and the check of what it said."""
