"""Parts of the suite `overhead`: each measures one thing and says what it skipped."""
