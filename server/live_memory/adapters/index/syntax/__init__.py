"""Definitions by a grammar, read in a process of their own; see `reader`."""
