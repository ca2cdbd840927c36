"""The evidence index on disk and in memory."""
