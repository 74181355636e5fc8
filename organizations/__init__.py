"""Organizations (the tenants), their members and API keys, and what each of them may do.

Every app builds on this one. `isolation` keeps the organizations' data apart, `authentication` checks API keys, and
`permissions` says which role may do what in the admin.
"""
