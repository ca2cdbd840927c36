"""What a model is told and what it says, in no provider's words."""
