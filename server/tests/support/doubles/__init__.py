"""Adapters that keep everything in memory, each held to the contract suite of its port."""
