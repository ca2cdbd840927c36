"""Coding tools that feed us: one dialect a host, and the spool of what the server missed."""
