"""All pages of the admin. Django imports this module, and importing a page registers it."""
# ruff: noqa: F401

from staff import imports, notes, optins
from staff.accounts import invitations, members, organizations, security_log, users
from staff.appointments import appointments
from staff.configuration import event_types, fields, lead_messages, statuses
from staff.connections import deliveries, endpoints, events, keys, notifications
from staff.leads import duplicates, leads, sources
