from django.db import migrations

# Words without accents, in lower case.
SEARCH_WORDS = r"""
CREATE FUNCTION search_words(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN translate(
    lower(regexp_replace(normalize(value, NFD), '[\u0300-\u036f]', '', 'g') COLLATE pg_c_utf8), 'łøđßıæœ', 'lodsiao'
)
"""
# Words, e-mail, domain, and the phone's digits from both ends. Each begins with the end of the organization's id, so
# that a search reads the index entries of its own organization only.
SEARCH_VECTOR = r"""
CREATE FUNCTION leads_search_vector(organization uuid, email text, first_name text, last_name text, phone text)
RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN array_to_tsvector(array_remove(array_remove(
    string_to_array(
        right(organization::text, 8) || regexp_replace(
            regexp_replace(
                search_words(first_name || ' ' || last_name || ' ' || split_part(email, '@', 1)),
                '([^[:space:][:punct:]]{60})[^[:space:][:punct:]]+' COLLATE pg_c_utf8, '\1', 'g'
            ),
            '[[:space:][:punct:]]+' COLLATE pg_c_utf8, ' ' || right(organization::text, 8), 'g'
        ),
        ' '
    ) || ARRAY[
        right(organization::text, 8) || search_words(email),
        right(organization::text, 8) || search_words('@' || split_part(email, '@', 2)),
        right(organization::text, 8) || ltrim(phone, '+'),
        right(organization::text, 8) || '<' || reverse(ltrim(phone, '+'))
    ],
    NULL
), right(organization::text, 8)))
"""
INDEX = """
CREATE INDEX CONCURRENTLY lead_search ON leads_lead
USING gin (leads_search_vector(organization_id, email, first_name, last_name, phone_e164))
WITH (gin_pending_list_limit = 512)
"""
# Under row-level security an index on an expression is not used: PostgreSQL does not run the function on rows that the
# policy has not checked yet. This function runs as the table's owner, and so it checks the request's scope itself. The
# index is the only way in: without statistics the planner may prefer to compute the expression for every row.
LEADS_FOUND = r"""
CREATE FUNCTION leads_found(organizations uuid[], terms text[], is_any boolean, most integer) RETURNS SETOF uuid
LANGUAGE sql STABLE STRICT SECURITY DEFINER ROWS 100
SET search_path FROM CURRENT SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
AS $$
    SELECT lead.id
    FROM unnest(organizations) AS organization
    CROSS JOIN LATERAL (
        SELECT string_agg(
            format(
                $q$'%s'%s$q$,
                replace(replace(right(organization::text, 8) || search_words(term), '\', '\\'), '''', ''''''),
                CASE WHEN length(term) > 1 THEN ':*' ELSE '' END
            ),
            CASE WHEN is_any THEN ' | ' ELSE ' & ' END
        )::tsquery AS query
        FROM unnest(terms) AS term
    ) AS search
    CROSS JOIN LATERAL (
        SELECT id
        FROM leads_lead
        WHERE organization_id IS NOT DISTINCT FROM organization
            AND leads_search_vector(organization_id, email, first_name, last_name, phone_e164) @@ search.query
        LIMIT most
    ) AS lead
    WHERE current_setting('role') = 'none'
        OR organization::text = ANY (string_to_array(
            translate(current_setting('pipeline.organizations', true), '{}', ''), ','
        ))
    LIMIT most
$$
"""
# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # the index is made while the table is in use

    dependencies = [
        ('leads', '0014_board'),
    ]

    operations = [
        migrations.RunSQL([SEARCH_WORDS], ['DROP FUNCTION search_words(text)']),
        migrations.RunSQL([SEARCH_VECTOR], ['DROP FUNCTION leads_search_vector(uuid, text, text, text, text)']),
        migrations.RunSQL(PATIENTLY, HASTILY),
        # An interrupted build leaves an invalid index behind.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS lead_search', migrations.RunSQL.noop),
        migrations.RunSQL(INDEX, 'DROP INDEX CONCURRENTLY lead_search'),
        migrations.RunSQL(HASTILY, PATIENTLY),
        migrations.RunSQL([LEADS_FOUND], ['DROP FUNCTION leads_found(uuid[], text[], boolean, integer)']),
    ]
