"""Which workspaces are open."""
