from django.db import migrations

from organizations.policies import referable, same_organization, walled


class Migration(migrations.Migration):

    atomic = False  # indexes are built beside those who write, and each step is one of its own

    dependencies = [
        ('optins', '0002_counted'),
        ('leads', '0004_second_wall'),
    ]

    operations = [
        *walled('optins_optin'),
        *walled('optins_questionanswer'),
        referable('optins_optin'),
        *same_organization('optins_optin', lead_id='leads_lead'),
        *same_organization('optins_questionanswer', opt_in_id='optins_optin'),
    ]
