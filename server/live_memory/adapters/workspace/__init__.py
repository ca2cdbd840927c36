"""Read-only view of a workspace that hostile names and repositories cannot leave."""
