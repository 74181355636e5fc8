from django.db import migrations

from organizations.migrations._row_level_security import composite_foreign_keys, enable_rls, unique_with_organization


class Migration(migrations.Migration):

    atomic = False  # indexes are built beside those who write, and each step is one of its own

    dependencies = [
        ('optins', '0002_counted'),
        ('leads', '0004_second_wall'),
    ]

    operations = [
        *enable_rls('optins_optin'),
        *enable_rls('optins_questionanswer'),
        unique_with_organization('optins_optin'),
        *composite_foreign_keys('optins_optin', lead_id='leads_lead'),
        *composite_foreign_keys('optins_questionanswer', opt_in_id='optins_optin'),
    ]
