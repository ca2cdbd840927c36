"""Speaks with the server under test, over HTTP and MCP."""
