"""An organization as a thing: taken out into a file, put into another installation, and deleted.

Constraints:

1. Nothing is forgotten. Which tables have an organization's rows follows from the database's foreign keys (`tables`);
   there is no list of tables that a new one would have to join.
2. Nothing that a client has stored is lost, and nothing is sent twice: only one of the two installations works for the
   organization at any time.
3. Integrators notice a pause and nothing else: ids, API keys, signing secrets and the order of events stay, so a copy
   that follows the events list continues with the `after` that it has.
4. The other organizations of both installations notice nothing. The events list ends before the oldest transaction that
   writes (webhooks.models), so a transaction that lasts would hold it up for all of them: import and deletion are many
   short ones, and the export's single one writes nothing.
5. A process may die at any moment. An organization that is not complete is not active, and is marked.
6. The file has personal data and secrets: it is encrypted as a whole, and can't be changed, cut or reordered unnoticed.

The life of a move:

- `pausing` makes the organization inactive and marks it (`Move.OUT`): requests get 503 with Retry-After, workers leave
  it alone. Then it waits until no request, delivery or import is at work for it any more.
- `exporting` copies each table's rows in one snapshot (PostgreSQL's COPY) into the file (`files`).
- `importing` reads the whole file once to check it, creates the organization, inactive and marked (`Move.IN`), copies
  the rows in transactions of about a megabyte, compares the counts, and makes it active. After a crash, the next run
  deletes what is there and begins again.
- `deleting` deletes the rows in short transactions, then searches all tables for the organization's id.

People (`organizations_user`) belong to no organization, so `accounts` decides who they are in the other installation.
"""

from collections.abc import Callable

from foundation.api.exceptions import DomainError

Progress = Callable[[str], None]  # prints a line for the operator


class Refused(DomainError):
    """An organization that can't be exported, imported or deleted now, or a file that can't be read."""
