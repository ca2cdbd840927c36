"""What a workspace keeps across restarts."""
