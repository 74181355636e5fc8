"""Admin pages of appointments, event types, notes and call analyses."""

from appointments import imports
from appointments.admin import appointments, configuration, lead_page, upcoming

__all__ = ["appointments", "configuration", "imports", "lead_page", "upcoming"]
