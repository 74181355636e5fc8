"""Environment variables of version 0.2 that are no longer read. Remove after 0.3."""

import logging
import os

logger = logging.getLogger(__name__)

REPLACEMENTS = {
    "ADMIN_REQUESTS_PER_MINUTE": "it is always 300",
    "ADMIN_STATEMENT_SECONDS": "it is always 5",
    "BODY_SECONDS": "it is always 20",
    "DATABASE_CONNECTION_SECONDS": "it is always 3600",
    "DATABASE_PREPARED_STATEMENTS": "set DATABASE_POOLER=transaction-prepared instead (PgBouncer 1.22 or later)",
    "DELIVERY_DEADLINE_SECONDS": "it is always 15",
    "DELIVERY_LEASE_SECONDS": "it is always 60",
    "FAILED_KEYS_PER_MINUTE": "it is always 60",
    "HEALTH_BACKLOG_SECONDS": "it is always 300",
    "HSTS_SECONDS": "it is always 31536000",
    "INVITATIONS_PER_ORGANIZATION_PER_DAY": "it is always 100",
    "KEEP_ADMIN_LOG_DAYS": "KEEP_SECURITY_EVENTS_DAYS applies to the admin's history, too, if it is more than 1095",
    "KEEP_NOTIFICATIONS_DAYS": "KEEP_DELIVERIES_DAYS applies to notifications, too",
    "LOCAL_RUN": "the local inbox exists only in make run",
    "MAILS_PER_ORGANIZATION_PER_DAY": "it is always 5000",
    "MAX_API_KEYS": "it is always 50",
    "MAX_CUSTOM_FIELDS": "it is always 100",
    "MAX_EVENT_TYPES": "it is always 1000",
    "MAX_WEBHOOK_ENDPOINTS": "it is always 20",
    "PASSWORD_HASHES_AT_ONCE": "it is always 1",
    "WEB_THREADS": "it is always 4",
    "WEBHOOKS_PER_HOST_PER_MINUTE": "it is always 1200",
    "WEBHOOK_REQUESTS_PER_ENDPOINT": "it is always 8",
}


def warn_of_former_settings() -> None:
    for name, replacement in REPLACEMENTS.items():
        if name in os.environ:
            logger.warning("%s is set, but no longer read: %s (CHANGELOG.md)", name, replacement)
