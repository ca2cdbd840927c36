"""The model in use, who may have it, and what it costs."""
