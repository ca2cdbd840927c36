"""A model that the server under test is given: it believes its prompt."""
