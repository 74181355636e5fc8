"""Management commands for operators.

Constraints:

1. A script can use the output: standard output has only the result (an id, a key, a secret); everything meant for
   people goes to standard error.
2. A failure is one sentence and exit code 1, never a traceback: also if the database is unreachable or not migrated.
3. Commands follow the same rules as the API and the admin.

How the design follows: commands that change something derive from `_command.BaseServiceCommand`, which turns domain
and database errors into a CommandError (2) and has `info` for messages to people (1). They validate their arguments and
call a service (3). `doctor` and `health` only read, and derive from Django's own class, because they have to report a
database that is down instead of failing.

Nothing outside this package imports from it.
"""
