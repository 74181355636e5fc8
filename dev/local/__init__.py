"""The local run: what `make run`, `make test` and `make clean` start. Only the local inbox is application code.

Constraints:

1. Python is all you need: no Docker, no installed servers, no configuration. Servers given by DATABASE_URL and
   REDIS_URL are used instead of our own.
2. No process is left behind, however a run ends: by Ctrl-C, by a crash, or by `kill -9`.
3. Only our own processes and files are touched. A pid may have been given to another process since.
4. Servers listen on 127.0.0.1 only and need a password, which no command line shows. The application signs in to
   PostgreSQL as an ordinary role, as in production (`deploy/ordinary_owner.sql`).
5. It works for root (a container) and on macOS, as far as the system allows.
6. Whatever goes wrong is one sentence that says what to do.

`run` is `make run`, with `process_group`, `terminal` and `banner`. `ephemeral` is `make test`, with `template`. Both
use `embedded` (PostgreSQL and Redis), `server`, `as_root` (5), `environment`, `processes` (2, 3) and `files`. `attach`
is for manage.py.
"""

MIGRATED = "All migrations are applied."  # what the command `demo --migrate` prints before it loads data


class StartupError(Exception):
    """Something can't be started. The message says why, to the person at the terminal."""
