"""The service behind PgBouncer in transaction mode (`DATABASE_POOLER=transaction`)."""
