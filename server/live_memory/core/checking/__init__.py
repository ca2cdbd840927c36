"""Whether the places that a text cites hold what it says of them."""
