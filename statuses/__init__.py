"""Statuses: the stages of an organization's lead board and appointment board.

A status has a role, which says what it means whatever the organization names it. Automatic changes (a booking, a
cancellation) use the default status of a role on a board: `statuses.services.default_status`. Leads and appointments
refer to `statuses.models.Status` and derive their histories from `StatusChange`.

The rules are in docs/interface.md, "Statuses" (S1 to S13).
"""
