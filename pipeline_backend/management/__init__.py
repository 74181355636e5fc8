"""Management commands for operators.

1. A script can use the output: standard output has only the result (an id, a key, a secret), standard error the rest.
2. A failure is one sentence and exit code 1, never a traceback, also if the database is unreachable or not migrated:
   `_command.BaseServiceCommand` turns domain and database errors into a CommandError.
3. Commands call the same services as the API and the admin.

`doctor` and `health` only read, and derive from Django's class, because they report a database that is down.
"""
