"""What touches the world: files, programs, databases, disk."""
