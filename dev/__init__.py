"""What `make run` and `make test` start, and the demo data. Nothing imports from here."""
