from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("leads", "0048_import_encoding")]

    operations = [
        migrations.AddField(
            model_name="leadstatuschange",
            name="is_undone",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
    ]
