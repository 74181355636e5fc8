"""Appointments: booking, rescheduling and canceling meetings with leads, and recording their outcomes.

All changes go through `appointments.services`, for the API and the admin alike. `conditions` and `reports` are queries
for pages. Only `staff`, `pipeline_backend` and `dev` import this app.
"""
