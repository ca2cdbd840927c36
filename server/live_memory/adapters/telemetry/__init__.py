"""Where signals go."""
