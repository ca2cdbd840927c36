"""How places that were found are shown, and what is said around them."""
