"""Leads, their sources and custom fields in the admin."""

from leads.admin import leads

__all__ = ["leads"]
