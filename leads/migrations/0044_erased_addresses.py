from django.db import migrations

# An address that erasing gives to another lead: that lead could not be erased. It is refused from now on.
RENAME = """
UPDATE leads_lead SET email = 'lead-' || id || '@example.invalid'
WHERE lower(email) LIKE 'erased-%@erased.invalid' AND lower(email) <> 'erased-' || id || '@erased.invalid'
"""
# All leads are read once.
PATIENTLY = 'SET LOCAL statement_timeout = 0'


class Migration(migrations.Migration):

    dependencies = [
        ('leads', '0043_composite_keys_only'),
    ]

    operations = [
        migrations.RunSQL([PATIENTLY, RENAME], migrations.RunSQL.noop),
    ]
