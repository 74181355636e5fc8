"""Opt-ins: submissions of web forms, with the answers and the traffic source of the visit.

A submission creates its lead or updates it. Appointments copy the UTM fields of the lead's latest opt-in and show
opt-ins in their detail, so the app `appointments` imports the models and `OptInItemSerializer` of this one.
"""
