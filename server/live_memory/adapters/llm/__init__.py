"""Models behind one port; provider quirks live here and nowhere else."""
