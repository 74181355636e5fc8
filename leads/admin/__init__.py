"""Admin pages of leads, sources and custom fields."""

from leads.admin import leads, privacy

__all__ = ["leads", "privacy"]
