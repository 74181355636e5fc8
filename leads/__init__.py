"""Leads: the people an organization sells to, with their sources, status history and custom fields.

Opt-ins and appointments both belong to a lead. Their apps import the models and services of this one, and nest its
serializers in theirs. This app knows neither of them.
"""
