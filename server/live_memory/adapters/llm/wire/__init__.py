"""What goes over the wire: bytes, JSON of any shape, and what providers complain about."""
