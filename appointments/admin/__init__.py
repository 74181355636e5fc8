"""Admin pages of appointments, event types, notes and call analyses."""

from appointments.admin import appointments, configuration

__all__ = ["appointments", "configuration"]
