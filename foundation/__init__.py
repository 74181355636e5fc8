"""Packages that know no app: database helpers, outbox, outgoing HTTP, the conventions of the API, metrics.

Each package's first page says what it is for. Nothing here imports from an app.
"""
