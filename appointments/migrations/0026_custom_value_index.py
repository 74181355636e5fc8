import django.contrib.postgres.indexes
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations

# Under row-level security an index on JSON is not used, because its operators are not leakproof. This function runs as
# the table's owner, and so it checks the request's scope itself. An index entry has the id of the field and its value,
# so a search reads those of its own organization only. The index is the only way in: the planner takes any value for
# a common one.
FUNCTION = """
CREATE FUNCTION appointments_with_custom_value(organization uuid, field text, chosen jsonb[], most integer)
RETURNS SETOF uuid LANGUAGE sql STABLE STRICT SECURITY DEFINER ROWS 100
SET search_path FROM CURRENT SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
AS $$
    SELECT found.id
    FROM unnest(chosen) AS value
    CROSS JOIN LATERAL (
        SELECT id
        FROM appointments_appointment
        WHERE organization_id IS NOT DISTINCT FROM organization AND custom_values @> jsonb_build_object(field, value)
        LIMIT most
    ) AS found
    WHERE current_setting('role') = 'none'
        OR organization::text = ANY (string_to_array(
            translate(current_setting('pipeline.organizations', true), '{}', ''), ','
        ))
    LIMIT most
$$
"""
# A large table's index takes longer than a request may, and waits for transactions that write.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # the index is made while the table is in use

    dependencies = [
        ('appointments', '0025_fill_outcome_since'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='appointment',
            index=django.contrib.postgres.indexes.GinIndex(
                fields=['custom_values'],
                gin_pending_list_limit=512,
                name='appointment_custom_values',
                opclasses=['jsonb_path_ops'],
            ),
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
        migrations.RunSQL([FUNCTION], ['DROP FUNCTION appointments_with_custom_value(uuid, text, jsonb[], integer)']),
    ]
