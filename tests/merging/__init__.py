"""Merging leads: the service, the API with merged ids and e-mails, undoing, and the pages."""
