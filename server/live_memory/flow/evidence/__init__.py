"""Finding and opening the places that an answer without a model rests on."""
