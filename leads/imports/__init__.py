"""Imports: files of leads or appointments that staff load (docs/staff.md, "Import").

The constraints:

1. A row is done once and only once, although workers are killed and messages are delivered twice.
2. The dry run says what the import will do, row by row, and changes nothing.
3. A row that can't be done keeps no other row from being done, and comes back in a file, with its reason.
4. An uploaded file is hostile until it is parsed, so the web server never parses it.
5. What is imported goes through the services, with the same events as any change.

What follows: the upload stores the file's bytes in `Import`. A worker parses it into `ImportRow`s, checks these, and
imports them. It does so in batches, each of which is one transaction that locks the import, does its rows, and stores
the position of the last one (1). Whoever finds another position than expected stops: another worker has gone on. Beat
looks for imports that nobody works on, so Redis is not needed for them to end.

An app adds a kind of import with a subclass of `importers.Importer`, which it registers (`appointments.imports`):

- `models`: `Import` and its rows
- `files`: the rows of a CSV or XLSX file, with limits; `workbooks`: those of an XLSX file
- `values`: what the text of a cell stands for
- `importers`: the base class, and how columns are guessed
- `leads`: the importer of leads
- `services`: what people do: upload, columns, start, cancel
- `worker`: what workers do: read, check, import
"""
