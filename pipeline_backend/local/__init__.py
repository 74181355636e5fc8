"""Everything behind `make run` and `make test`; no part of what is deployed.

__main__     the words: run, test, with-servers, clean
run          `make run` from the first check to the last process stopped
throwaway    `make test`: a command with servers that are gone afterwards
template     a PostgreSQL cluster with the migrated database, kept for the next `make test`
welcome      what is printed when it runs
environment  the environment variables of both
parts        web, worker and beat as child processes with one log
embedded     PostgreSQL and Redis from wheels
as_root      where PostgreSQL goes when root starts it
processes    start, recognise and end a process
files        private files and locks
"""


class StartupError(Exception):
    """It can't go on; the text says why, in words for the person at the terminal."""
