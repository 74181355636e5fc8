"""Webhook deliveries and other background work."""

from pipeline_backend.env import MAX_DAYS, read_bool, read_int, read_networks, read_text, read_url

WEBHOOKS_ALLOW_PRIVATE = read_bool("WEBHOOKS_ALLOW_PRIVATE")
WEBHOOKS_ALLOWED_NETWORKS = read_networks("WEBHOOKS_ALLOWED_NETWORKS")
WEBHOOKS_PROXY = read_text("WEBHOOKS_PROXY", "") and read_url("WEBHOOKS_PROXY", "http://user:password@proxy:3128")
# Twice the API's default rate limit: a booking can cause two events, and one endpoint must be able to receive both.
WEBHOOKS_PER_HOST_PER_MINUTE = 1200
WEBHOOK_REQUESTS_PER_ENDPOINT = 8  # at once, of each worker (docs/decisions/0007)
KEEP_DELIVERIES_DAYS = read_int("KEEP_DELIVERIES_DAYS", default=90, max_value=MAX_DAYS)  # and notifications
# 100 years are for ever.
KEEP_EVENTS_DAYS = read_int("KEEP_EVENTS_DAYS", default=MAX_DAYS, max_value=MAX_DAYS)
# The workers' queues, in the order in which they look for jobs.
OUTBOX_QUEUES = [
    "webhooks.queue.DELIVERIES",
    "notifications.queues.EMAILS",
    "notifications.queues.SLACK_MESSAGES",
    "accounts.mail.SECURITY_NOTICES",
    "accounts.mail.INVITATIONS",
    "accounts.mail.PASSWORD_RESETS",
]
DELIVERY_DEADLINE_SECONDS = 15  # in all: name resolution, connection, TLS, headers and body
# At least twice the deadline: a lease that expired while its delivery is still being sent would be sent twice.
DELIVERY_LEASE_SECONDS = 60
HEALTH_BACKLOG_SECONDS = 300  # for which jobs may be due before the health check fails: a restart takes less
