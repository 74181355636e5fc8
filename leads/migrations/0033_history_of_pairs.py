from django.db import migrations

# They hold the names of two leads, and no erasure finds them once the pair is gone.
DELETE = """
DELETE FROM django_admin_log USING django_content_type AS type
WHERE type.id = content_type_id AND type.app_label = 'leads' AND type.model = 'possibleduplicate'
"""


class Migration(migrations.Migration):

    dependencies = [
        ('leads', '0032_retention'),
        ('admin', '0003_logentry_add_action_flag_choices'),
    ]

    operations = [migrations.RunSQL(DELETE, migrations.RunSQL.noop)]
