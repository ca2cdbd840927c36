"""Translates commands; all but `serve` speak HTTP to a running server."""
