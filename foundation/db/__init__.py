"""Data access below Django's ORM: what the busiest code paths use instead of querysets and `save`.

A booking or a list page takes a few milliseconds, and Django would spend most of them compiling the same querysets
again, building model instances and sending one statement per row. Code that isn't busy uses plain Django.

1. A query is compiled once per process, so its text depends neither on the length of a list nor on nulls: a queryset
   has `Param` in place of values, and is kept in a `CompiledQuery`. Few different texts, because PostgreSQL plans each
   prepared statement a few times per connection (`prepared`).
2. A round trip costs more than most statements do, so `CombinedQuery` and `insert_all` send several as one.
3. Two transactions may insert the same row at the same time. The unique constraint decides; there is no lock besides,
   and no check before the insert without the constraint behind it (`insert_or_get`, `atomic_with_retry`).
4. A timestamp that a client reads is the one that the database compares, to the millisecond (`timestamps`).
5. A secret in the database is readable only with the application's key (`encryption`).

Migrations name `timestamps`, `encryption` and `expressions`: these three modules never move.
"""
