"""What an answer costs: a simulated provider with a prefix cache, and an honest reader."""
