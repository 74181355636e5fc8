from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("leads", "0047_import_values_at")]

    operations = [
        migrations.AddField(
            model_name="import",
            name="encoding",
            field=models.CharField(blank=True, db_default="", default="", editable=False, max_length=12),
        ),
    ]
