"""What calls may lead to, as far as names tell."""
