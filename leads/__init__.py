"""Leads: the people an organization sells to, with their sources, status history and custom fields.

Opt-ins and appointments both belong to a lead. Their apps import the models and services of this one, nest its
serializers in theirs, and build their admin pages on `leads.admin`. This app knows neither of them.
"""
