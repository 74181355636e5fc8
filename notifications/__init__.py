"""Notifications to an organization's members: e-mails, and messages to its Slack channel.

Other apps call `build_notifications` and `insert_notifications` (`services`) in the transaction of a change. Each
row is one message on one channel and holds the data it is rendered from, so that the outbox dispatcher needs nothing
else to send it. `queues` sends; `mail` and `slack` render. docs/interface.md has the rules (N1 to N9).
"""
