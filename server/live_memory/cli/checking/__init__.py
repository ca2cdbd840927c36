"""What `doctor` tries out, beyond what it looks at."""
