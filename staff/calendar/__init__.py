"""The calendar of appointments."""
