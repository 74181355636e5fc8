"""Organizations (the tenants), their members and API keys, and what each of them may do.

Every other app builds on this one. `isolation` keeps the organizations' data apart, `authentication` checks API keys,
`permissions` says which role may do what in the admin, and `admin` holds the base classes of all admin pages.
"""
