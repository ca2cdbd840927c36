"""What a question finds for itself where the index is not built yet."""
