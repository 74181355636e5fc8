"""PostgreSQL: the connection and its time-outs."""

from typing import Any

from pipeline_backend.env import env, read_choice, read_url

STATEMENT_SECONDS = 30
# Of an admin page, whose reader has stopped waiting by then (organizations.isolation sets it).
ADMIN_STATEMENT_SECONDS = 5
# Also of an admin page: events of all organizations are invisible until a transaction that was begun before has ended.
ADMIN_TRANSACTION_SECONDS = 15
DATABASE_URL = read_url(
    "DATABASE_URL", "postgres://user:password@host:5432/name", schemes=env.POSTGRES_FAMILY, pattern=".*/.+"
)
# `transaction`: DATABASE_URL leads to PgBouncer in transaction mode. Each transaction then has another session, so a
# request's role and settings are set in each transaction, and nothing else is kept in a session: no prepared statements
# either, unless PgBouncer keeps them (1.22 and later).
_pooler = read_choice("DATABASE_POOLER", "session", "transaction", "transaction-prepared")
DATABASE_POOLER = _pooler.partition("-")[0]
# Statements and locks time out sooner than clients do; the client gets 503 and can retry.
# random_page_cost: indexes are in memory or on an SSD. With PostgreSQL's default of 4, meant for hard disks, it scans
# whole small tables for each row of a page.
SESSION_SETTINGS = {
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "1min",
    "random_page_cost": "1.1",
}
_database: dict[str, Any] = {"OPTIONS": {}} | env.db_url_config(DATABASE_URL, engine="django.db.backends.postgresql")
_database |= {
    # Seconds, after which a web server's thread connects anew between two requests (pipeline_backend/web/rsgi.py). One
    # that a failover leaves on a server that is read-only is closed by its first error.
    "CONN_MAX_AGE": 3600,
    "CONN_HEALTH_CHECKS": True,
    "DISABLE_SERVER_SIDE_CURSORS": DATABASE_POOLER == "transaction",
}
_database["OPTIONS"] |= {
    "connect_timeout": 3,
    # Seconds. A firewall doesn't forget the connection while it is idle; if it is lost, that is known after 90 seconds.
    "keepalives_idle": 60,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    # Planning a list query takes longer than running it, so a connection prepares a statement after five uses,
    # and those of `foundation.db.prepared` at once.
    "server_side_binding": True,
    "prepare_threshold": None if _pooler == "transaction" else 5,
    # PgBouncer refuses clients that send this, and sets the same itself (docs/pgbouncer.ini).
    "options": " ".join(f"-c {name}={value}" for name, value in SESSION_SETTINGS.items())
    if DATABASE_POOLER == "session"
    else "",
}
DATABASES = {"default": _database}
