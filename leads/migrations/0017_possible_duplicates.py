import django.db.models.deletion
import django.db.models.manager
import foundation.db.timestamps
import uuid_utils.compat
from django.db import migrations, models

from organizations.migrations._row_level_security import composite_foreign_keys, enable_rls

# Addresses with the same key belong to one mailbox: what follows + doesn't count, and at Gmail no dots either. A name's
# key ignores accents, letter case, other characters than letters and digits, and which of the two names is the first.
# Null, which equals nothing, if there is not enough to compare. NFKD can make a name many times longer, and an index
# refuses keys of more than 2704 bytes, so it is cut.
EMAIL_KEY = """
CREATE OR REPLACE FUNCTION leads_email_key(email text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN split_part(lower(email), '@', 2) IN ('gmail.com', 'googlemail.com')
    THEN nullif(replace(split_part(split_part(lower(email), '@', 1), '+', 1), '.', ''), '') || '@gmail.com'
    ELSE nullif(split_part(split_part(lower(email), '@', 1), '+', 1), '') || '@' || split_part(lower(email), '@', 2)
END
"""
PLAIN = (
    r"left(regexp_replace(casefold(normalize({name}, NFKD) COLLATE pg_unicode_fast),"
    r" '[\u0300-\u036F]|[^[:alnum:]]', '', 'g'), 255)"
)
NAME_KEY = f"""
CREATE OR REPLACE FUNCTION leads_name_key(first_name text, last_name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN nullif(least({PLAIN.format(name='first_name')}, {PLAIN.format(name='last_name')}), '') || ' '
    || greatest({PLAIN.format(name='first_name')}, {PLAIN.format(name='last_name')})
"""
# A name that many have says nothing, and so does an office's phone. It runs as the tables' owner, because under
# row-level security PostgreSQL would not use the indexes. The reasons are those of `PossibleDuplicate`.
SIMILAR = """
CREATE OR REPLACE FUNCTION leads_similar(organization uuid, lead_id uuid) RETURNS TABLE (id uuid, reasons integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT ROWS 2 AS $$
    SELECT found.id, sum(found.reason)::integer
    FROM leads_lead AS lead CROSS JOIN LATERAL (
        SELECT unnest(ids) AS id, 4 AS reason
        FROM (SELECT array_agg(same.id) AS ids FROM (
            SELECT other.id FROM leads_lead AS other
            WHERE other.organization_id = organization AND leads_email_key(other.email) = leads_email_key(lead.email)
            LIMIT 21
        ) AS same) AS by_email WHERE cardinality(ids) <= 20
        UNION ALL
        SELECT unnest(ids), 2
        FROM (SELECT array_agg(same.id) AS ids FROM (
            SELECT other.id FROM leads_lead AS other
            WHERE other.organization_id = organization AND other.phone_e164 = lead.phone_e164
            LIMIT 21
        ) AS same) AS by_phone WHERE cardinality(ids) <= 20
        UNION ALL
        SELECT unnest(ids), 1
        FROM (SELECT array_agg(same.id) AS ids FROM (
            SELECT other.id FROM leads_lead AS other
            WHERE other.organization_id = organization
                AND leads_name_key(other.first_name, other.last_name) = leads_name_key(lead.first_name, lead.last_name)
            LIMIT 6
        ) AS same) AS by_name WHERE cardinality(ids) <= 5
    ) AS found
    WHERE lead.organization_id = organization AND lead.id = lead_id AND found.id <> lead_id
    GROUP BY found.id
$$
"""
BASE = [
    ('created_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
    ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
    ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='organizations.organization')),
]
OPTIONS = {
    'abstract': False,
    'base_manager_name': 'unscoped',
    'default_manager_name': 'unscoped',
}
MANAGERS = [
    ('unscoped', django.db.models.manager.Manager()),
]


class Migration(migrations.Migration):

    dependencies = [
        ('leads', '0016_imports'),
    ]

    operations = [
        migrations.CreateModel(
            name='PossibleDuplicate',
            fields=[
                *BASE,
                ('reasons', models.PositiveSmallIntegerField(editable=False)),
                ('is_dismissed', models.BooleanField(default=False, editable=False, verbose_name='not duplicates')),
                ('first', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='later_duplicates', to='leads.lead')),
                ('second', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='earlier_duplicates', to='leads.lead')),
            ],
            options={
                **OPTIONS,
                'ordering': ['-reasons', '-first_id', 'second_id'],
                'constraints': [
                    models.UniqueConstraint(models.F('first'), models.F('second'), name='one_possible_duplicate_per_pair'),
                ],
                'indexes': [
                    models.Index(fields=['second'], name='duplicate_of_second'),
                    models.Index(condition=models.Q(('is_dismissed', False)), fields=['organization', '-reasons', '-first', 'second'], name='duplicate_most_certain'),
                ],
            },
            managers=MANAGERS,
        ),
        migrations.CreateModel(
            name='DuplicateSearch',
            fields=[
                *BASE,
                ('searched_at', foundation.db.timestamps.MillisecondDateTimeField(editable=False)),
                ('searched_id', models.UUIDField(editable=False)),
            ],
            options={
                **OPTIONS,
                'constraints': [
                    models.UniqueConstraint(models.F('organization'), name='one_duplicate_search_per_organization'),
                ],
            },
            managers=MANAGERS,
        ),
        *(step for table in ('possibleduplicate', 'duplicatesearch') for step in enable_rls(f'leads_{table}')),
        *composite_foreign_keys('leads_possibleduplicate', first_id='leads_lead', second_id='leads_lead'),
        migrations.RunSQL([EMAIL_KEY], ['DROP FUNCTION leads_email_key(text)']),
        migrations.RunSQL([NAME_KEY], ['DROP FUNCTION leads_name_key(text, text)']),
        migrations.RunSQL([SIMILAR], ['DROP FUNCTION leads_similar(uuid, uuid)']),
    ]
