"""Privacy: everything that is stored about a lead, as JSON, and erasing it.

Constraints:

1. Nothing is forgotten: a table that refers to a lead, directly or through others, has a rule, or export and erasing
   fail. A test looks for tables without one.
2. Numbers of past periods stay: rows that are counted stay without personal data, all others go.
3. Erasing always ends: it reads no more when more is stored about other leads, and if it is too much for one request, a
   worker does it in short transactions (`Erasure`), in the organization's turn (`leads.imports.turns`). Its record
   names the lead by its id alone.
4. What is being sent while a lead is erased leaves no trace of it afterwards.

How the design follows:

- `rules` follows the foreign keys from a lead, and knows for each table whether its rows are emptied, deleted or kept.
  Each app names the rules of its own tables in its `privacy` module.
- `retention` requests to erase the leads without activity, if the organization's owner has chosen that.
- `identities` collects what the lead is and was called, `imported_rows` and `saved_views` compare texts with that.
- `erasing` applies the rules, replaces the events about the lead by `lead.erased`, cancels their deliveries, and
  deletes what is about it although no foreign key leads there: the notifications, the admin's history, the saved views
  and the rows of imported files. `export` writes all of it as JSON.

The lead itself stays as `erased-<id>@erased.invalid`, with its status, setter, sources and times.
"""
