"""Admin pages of leads, sources and custom fields."""

from leads.admin import leads

__all__ = ["leads"]
