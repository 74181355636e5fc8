"""The admin's only language."""
