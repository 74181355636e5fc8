"""What `make run`, `make test` and `make clean` start; nothing here is deployed, apart from the local inbox's code.

Constraints:

1. Python is all you need: no Docker, no installed servers, no configuration. Servers given by DATABASE_URL and
   REDIS_URL are used instead of our own.
2. No process is left behind, however a run ends: by Ctrl-C, by a crash, or by `kill -9`.
3. Only processes and files of our own are touched. A pid may have been given to another process since.
4. Servers listen on 127.0.0.1 only and need a password, which no command line shows. The application signs in to
   PostgreSQL as an ordinary role, as in production (`deploy/ordinary_owner.sql`).
5. It works for root (a container) and on macOS, as far as the system allows.
6. Whatever goes wrong is one sentence that says what to do.

How the design follows:

- `embedded` starts PostgreSQL and Redis from Python packages (1, 4); `as_root` lets PostgreSQL run as `nobody` (5).
- `processes` starts each child so that the kernel stops it when we die (2); psutil tells whether a process is still
  the one that it was (3). `files` has locks, which end with the process that holds them, and private files.
- `process_group` runs web, worker and beat with one log, and marks them by an environment variable (2).
- `run` is `make run`: it checks, starts, supervises and stops everything; `banner` is the text that it prints.
- `ephemeral` is `make test`: it runs a command with servers that are removed afterwards. `template` stores a migrated
  PostgreSQL cluster for the next time.
- `environment` has the environment variables of both. `__main__` has the subcommands.
- `attach` lets manage.py use the instance that `run` has started, or start its servers for one command.
- `inbox` is the page at /local/, the only module that is part of the web application.

Tests and benchmarks may use `embedded`, `processes` and `ephemeral`. The application imports only `inbox`, the command
`demo` also `files` and `MIGRATED`, and manage.py `attach`.
"""

MIGRATED = "All migrations are applied."  # what the command `demo --migrate` prints before it loads data


class StartupError(Exception):
    """Something can't be started. The message says why, to the person at the terminal."""
