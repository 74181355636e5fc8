"""Pages of statuses, custom fields and event types."""
