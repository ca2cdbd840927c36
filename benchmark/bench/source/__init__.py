"""Repositories, their history, and what a run does to work trees."""
