from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # the index is made while the table is in use

    dependencies = [
        ('leads', '0029_fill_next_steps'),
    ]

    operations = [
        migrations.AddField(
            model_name='leadnote',
            name='call_result',
            field=models.CharField(choices=[('NO_ANSWER', 'No answer'), ('TALKED', 'Talked'), ('VOICEMAIL', 'Voicemail'), ('WRONG_NUMBER', 'Wrong number')], editable=False, max_length=12, null=True),
        ),
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='leadnote',
            index=models.Index(condition=models.Q(('call_result__isnull', False)), fields=['lead', '-created_at'], name='lead_call_newest'),
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
