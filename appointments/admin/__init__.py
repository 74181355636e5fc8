"""Appointments in the admin, and what belongs to them."""

from appointments.admin import appointments, configuration

__all__ = ["appointments", "configuration"]
