"""How bytes of a file become text worth remembering: admitted, decoded, redacted."""
