"""Boards: cards of leads or appointments in a column for each status."""
