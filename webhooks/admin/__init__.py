"""Webhooks in the admin: endpoints, events and deliveries."""

# Django's autodiscovery imports `webhooks.admin`; importing the modules registers their pages.
from webhooks.admin import deliveries, endpoints, events

__all__ = ["deliveries", "endpoints", "events"]
