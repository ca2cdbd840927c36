"""The login of the user's own Claude Code as a credential, for those who asked for it."""
