"""Template filters of leads."""
