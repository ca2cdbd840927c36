"""Translates HTTP and MCP; no rule of the product lives here."""
