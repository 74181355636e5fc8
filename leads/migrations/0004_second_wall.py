from django.db import migrations

from organizations.migrations._row_level_security import composite_foreign_keys, enable_rls, unique_with_organization

TABLES = ['source', 'lead', 'leadstatuschange', 'customfield']
# Under row-level security an index on lower(email) is not used: PostgreSQL does not run lower() on rows that the policy has not checked yet.
WITH_EMAIL = """
CREATE FUNCTION leads_with_email(organization uuid, wanted text) RETURNS uuid
LANGUAGE sql STABLE STRICT SECURITY DEFINER SET search_path FROM CURRENT
AS 'SELECT id FROM leads_lead WHERE organization_id = organization AND lower(email) = lower(wanted)'
"""


class Migration(migrations.Migration):

    atomic = False  # indexes are built beside those who write, and each step is one of its own

    dependencies = [
        ('leads', '0003_cover_ranges'),
        ('organizations', '0003_second_wall'),
        ('statuses', '0002_second_wall'),
    ]

    operations = [
        *(step for table in TABLES for step in enable_rls(f'leads_{table}')),
        *(unique_with_organization(f'leads_{table}') for table in ['source', 'lead']),
        *composite_foreign_keys('leads_lead', status_id='statuses_status', setter_id='organizations_membership', first_source_id='leads_source', last_source_id='leads_source'),
        *composite_foreign_keys('leads_leadstatuschange', lead_id='leads_lead', from_status_id='statuses_status', to_status_id='statuses_status'),
        migrations.RunSQL([WITH_EMAIL], ['DROP FUNCTION leads_with_email(uuid, text)']),
    ]
