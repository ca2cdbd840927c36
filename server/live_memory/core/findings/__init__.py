"""What agents understood: sentences with places that hold, and when they answer a question."""
