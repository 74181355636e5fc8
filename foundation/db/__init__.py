"""Data access below Django's ORM: what the busiest code paths use instead of querysets and `save`.

What it is for: a booking or a list page takes a few milliseconds, and Django would spend most of them compiling the
same querysets again, building model instances and sending one statement per row. This package keeps the ORM's
definitions (models, managers, lookups) and skips the repeated work. Code that isn't busy uses plain Django.

The constraints:

1. A query is compiled once per process, whatever its values are. So its text must not depend on them: not on the length
   of a list, and not on whether a value is null.
2. PostgreSQL plans a prepared statement once per connection. So few different texts.
3. A round trip costs more than most statements do. So several reads, or the inserts of several tables, are combined.
4. Two transactions may insert the same row at the same time. The unique constraint decides; there is no
   lock besides, and no check before the insert without the constraint behind it.
5. A timestamp that a client reads is the one that the database compares, to the millisecond.
6. A secret in the database is readable only with the application's key.

What follows from them: a queryset is written with `Param` in place of values and kept in a `CompiledQuery` (1, 2);
`CombinedQuery` and `insert_all` send several statements as one (3); `insert_or_get` uses ON CONFLICT DO NOTHING, and
`atomic_with_retry` runs a transaction again that lost a race (4); `MillisecondDateTimeField` and `now` cut to
milliseconds (5); `EncryptedField` encrypts (6).

The package knows no app and no other package of ours. Import from its modules:

- `compiled`: `CompiledQuery`, `CombinedQuery`, `Param`, `bind`
- `writes`: `insert_all`, `insert_or_get`
- `deletes`: `delete_in_batches`
- `retry`: `atomic_with_retry`, `is_serialization_failure`
- `timestamps`: `MillisecondDateTimeField`, `now`, `isoformat_z`, `truncate_to_ms`
- `names`: `fold_name`
- `encryption`: `EncryptedField`, `cipher`
- `expressions`: `CurrentXactId`, `SnapshotXmin`

Migrations name `timestamps`, `encryption` and `expressions`: these three modules never move.
"""
