"""Answers through the user's own installed Claude Code, which is started once a question."""
