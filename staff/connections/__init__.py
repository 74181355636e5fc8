"""Pages of what connects an organization: API keys, webhook endpoints, events, deliveries, notifications."""
