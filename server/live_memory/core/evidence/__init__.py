"""Finding the places a question is about and answering from them without a model."""
