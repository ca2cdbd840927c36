"""A question, its answer, and whether its citations hold."""
