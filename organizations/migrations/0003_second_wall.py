from django.db import migrations

from organizations.migrations._row_level_security import create_rls_roles, enable_rls, grant, unique_with_organization

TABLES = ['organizations_membership', 'organizations_rowcount', 'organizations_apikey']
# People belong to no organization: seen are those who are or were members, and operators, whose names stand beside what they did.
COLLEAGUE = 'EXISTS (SELECT FROM organizations_membership AS own WHERE own.user_id = organizations_user.id)'
KNOWN = f'is_superuser OR {COLLEAGUE}'
# What Django itself asks for while it serves; nothing of it is an organization's.
OTHERS = {
    'django_session': 'SELECT, INSERT, UPDATE, DELETE',
    'django_content_type': 'SELECT',
    'auth_group': 'SELECT',
    'auth_permission': 'SELECT',
    'auth_group_permissions': 'SELECT',
    'organizations_user_groups': 'SELECT',
    'organizations_user_user_permissions': 'SELECT',
}
# A key says whose request it is, so it is looked up before anybody's rows are seen: by its id, or not at all.
KEY = """
CREATE FUNCTION organizations_key(wanted text) RETURNS SETOF organizations_apikey
LANGUAGE sql STABLE STRICT SECURITY DEFINER ROWS 1 SET search_path FROM CURRENT
AS 'SELECT * FROM organizations_apikey WHERE key_id = wanted'
"""
KEY_ORGANIZATION = """
CREATE FUNCTION organizations_of_key(wanted text) RETURNS SETOF organizations_organization
LANGUAGE sql STABLE STRICT SECURITY DEFINER ROWS 1 SET search_path FROM CURRENT
AS 'SELECT organization.* FROM organizations_organization AS organization
    JOIN organizations_apikey AS key ON key.organization_id = organization.id WHERE key.key_id = wanted'
"""


class Migration(migrations.Migration):

    atomic = False  # indexes are built beside those who write, and each step is one of its own

    dependencies = [
        ('organizations', '0002_count_rows'),
        ('admin', '0003_logentry_add_action_flag_choices'),
        ('auth', '0012_alter_user_first_name_max_length'),
        ('contenttypes', '0002_remove_content_type_name'),
        ('sessions', '0001_initial'),
    ]

    operations = [
        create_rls_roles(),
        *enable_rls('organizations_organization', 'id = {scope}', rights='SELECT, UPDATE'),
        *enable_rls('organizations_user', KNOWN, insert='NOT is_superuser', update=f'NOT is_superuser AND {COLLEAGUE}', rights='SELECT, INSERT, UPDATE'),
        *(step for table in TABLES for step in enable_rls(table)),
        *enable_rls('django_admin_log', f'EXISTS (SELECT FROM organizations_user AS person WHERE person.id = django_admin_log.user_id)', rights='SELECT, INSERT'),
        *(grant(table, rights) for table, rights in OTHERS.items()),
        migrations.RunSQL([KEY, KEY_ORGANIZATION], ['DROP FUNCTION organizations_of_key(text)', 'DROP FUNCTION organizations_key(text)']),
        unique_with_organization('organizations_membership'),
    ]
