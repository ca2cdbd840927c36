"""What in a text is a secret: told by an issuer's form, a name, a place, or by chance alone."""
