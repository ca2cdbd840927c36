"""From entries that no longer fit to facts: in the background, one at a time, at a known price."""
