"""Webhooks: events about an organization's records, and their delivery to the organization's endpoints.

Other apps declare their topics in `topics.py` (`webhooks.topics.Topic`) and call `webhooks.events.record_event` in
the transaction of a change. That writes one event and one delivery per subscribed endpoint; the outbox dispatcher
sends the deliveries (`webhooks.queue`). The same events can be read with `GET /api/external/events`.

No field can change silently: `previous` is what differs between the object as the API showed it before and after the
change, and `store_changes` moves `updated_at` whenever a column changes that is shown (`organizations.versions`).

The rules are in docs/interface.md, "Events and webhooks" (W1 to W25); docs/webhooks.md is written for receivers.
"""
