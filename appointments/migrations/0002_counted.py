from django.db import migrations

from organizations.counting import counted


class Migration(migrations.Migration):

    atomic = False  # the triggers first; then, while they count, what was there

    dependencies = [
        ('appointments', '0001_initial'),
        ('organizations', '0002_count_rows'),
    ]

    operations = counted('appointments_appointment')
