"""Base classes of all admin pages, and the pages of members, users and API keys.

`actions` has the buttons of a row's page, `base` the pages whose writes go through services, `lists` the limits of
their lists, `views` the views and layouts of lists, `tenant` the pages of rows that belong to an organization, and
`record` and `timeline` the pages of leads and appointments.
"""

from organizations.admin import keys, members, security_log, users

__all__ = ["keys", "members", "security_log", "users"]
