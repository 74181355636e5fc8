from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("leads", "0049_undone_status_changes")]

    operations = [
        migrations.AddField(
            model_name="import",
            name="other_sheets",
            field=models.PositiveIntegerField(db_default=0, default=0, editable=False),
        ),
    ]
