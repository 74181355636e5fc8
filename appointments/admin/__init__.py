"""Appointments in the admin, and what belongs to them."""

from appointments.admin import calls, setup

__all__ = ["calls", "setup"]
