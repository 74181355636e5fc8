"""Imports: files of leads or appointments that staff load (docs/staff.md, "Import").

The constraints:

1. A row is done once and only once, although workers are killed and messages are delivered twice.
2. The dry run predicts the import row by row, and changes nothing.
3. A row that can't be done keeps no other row from being done, and comes back in a file, with its reason.
4. An uploaded file is hostile until it is parsed, so the web server never parses it.
5. Imports go through the services, with the same events as any change.
6. Imports of one organization, however large, keep neither imports of others nor other tasks waiting for long.

So the upload stores the file's bytes in `Import`. A worker parses it into `ImportRow`s, checks these, and
imports them. It does so in batches, each of which is one transaction that locks the import, does its rows, and stores
the position of the last one (1). Rows that are imported are deleted in that transaction; refused ones stay a week (3).
A worker that finds another position than expected stops: another one has taken over.

Workers take turns (6). A message says only that some import waits; the database says which is next: the oldest of the
organization whose last turn is longest ago. After some seconds the turn ends with its batch, the worker sends the
message again, and the next turn continues at the stored position. The rows of canceled and failed imports are deleted
in turns, too. The messages have a queue of their own, and a process works on two imports at once, so that it has
threads for other tasks. A periodic task looks, too, so that a lost one delays imports only.

An app adds a kind of import with a subclass of `importers.Importer`, which it registers (`appointments.imports`).
"""
