"""What a workspace remembers: events folded into a window, facts in a ledger, their saved form."""
