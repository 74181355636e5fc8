import foundation.db.timestamps
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # the index is made while the table is in use

    dependencies = [
        ('leads', '0035_undoing_index'),
    ]

    operations = [
        migrations.AddField(
            model_name='leadnote',
            name='edited_at',
            field=foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True, verbose_name='edited'),
        ),
        migrations.AddField(
            model_name='leadnote',
            name='is_pinned',
            field=models.BooleanField(db_default=False, default=False, editable=False, verbose_name='pinned'),
        ),
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='leadnote',
            index=models.Index(condition=models.Q(('is_pinned', True)), fields=['lead', '-created_at'], name='lead_note_pinned'),
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
