"""All pages of the admin. Django imports this module, and importing a page registers it."""

from staff import imports, optins
from staff.accounts import invitations, members, organizations, security_log, users
from staff.appointments import appointments, lead_page, upcoming
from staff.configuration import custom_fields, event_types, statuses
from staff.connections import deliveries, endpoints, events, keys, notifications
from staff.leads import duplicates, leads, privacy

__all__ = [
    "appointments",
    "custom_fields",
    "deliveries",
    "duplicates",
    "endpoints",
    "event_types",
    "events",
    "imports",
    "invitations",
    "keys",
    "lead_page",
    "leads",
    "members",
    "notifications",
    "optins",
    "organizations",
    "privacy",
    "security_log",
    "statuses",
    "upcoming",
    "users",
]
