"""Notices changes in the folders of a workspace; a hint, which nothing rests on."""
