"""The admin's ground: who may do what, pages of an organization's rows, and the pages of members, people and keys."""

from organizations.admin import keys, members, users

__all__ = ["keys", "members", "users"]
