import django.contrib.postgres.indexes
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # the indexes are made while the tables are in use

    dependencies = [
        ('leads', '0020_erasures'),
        ('admin', '0003_logentry_add_action_flag_choices'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='import',
            index=models.Index(condition=models.Q(('size__gt', 0), ('size', None), _connector='OR'), fields=['organization', 'rows_until'], name='import_stored'),
        ),
        AddIndexConcurrently(
            model_name='import',
            index=django.contrib.postgres.indexes.GinIndex(fields=['terms'], name='import_terms'),
        ),
        AddIndexConcurrently(
            model_name='importrow',
            index=django.contrib.postgres.indexes.GinIndex(fields=['terms'], name='import_row_terms'),
        ),
        AddIndexConcurrently(
            model_name='importrow',
            index=models.Index(condition=models.Q(('terms', None)), fields=['organization'], name='import_row_without_terms'),
        ),
        # Django's own table has no index by which the entries about a row are found.
        migrations.RunSQL(
            'CREATE INDEX CONCURRENTLY admin_log_object ON django_admin_log (object_id)',
            'DROP INDEX CONCURRENTLY admin_log_object',
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
