"""Appointments: booking, rescheduling and canceling meetings with leads, and recording their outcomes.

All changes go through `appointments.services`, for the API and the admin alike. `pipeline_backend` imports the services
(demo), the models and reports (home page) and the URLs. No other app imports this one.
"""
