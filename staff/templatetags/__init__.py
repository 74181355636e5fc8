"""Template filters of staff pages."""
