"""Pages of organizations, members, users, invitations and the security log."""
