"""What of a repository's git data is trusted."""
