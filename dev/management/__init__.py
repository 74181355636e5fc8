"""The command that adds demo data."""
