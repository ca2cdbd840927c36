"""What a host tells us: its events, and what its commands showed."""
