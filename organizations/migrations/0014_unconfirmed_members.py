from django.db import migrations, models

# Members that 0011_invite_anew has deactivated and invited, and who have not answered yet.
MARK = """
UPDATE organizations_membership AS membership
SET is_unconfirmed = true
FROM organizations_user AS person, organizations_invitation AS invitation
WHERE NOT membership.is_active AND person.id = membership.user_id
    AND person.is_active AND person.last_login IS NULL AND person.password LIKE '!%'
    AND invitation.organization_id = membership.organization_id AND lower(invitation.email) = lower(person.email)
    AND invitation.invited_by_id IS NULL
    AND invitation.accepted_at IS NULL AND invitation.declined_at IS NULL AND invitation.withdrawn_at IS NULL
"""


class Migration(migrations.Migration):

    dependencies = [
        ('organizations', '0013_security_event_kinds'),
    ]

    operations = [
        migrations.AddField(
            model_name='membership',
            name='is_unconfirmed',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.RunSQL(MARK, migrations.RunSQL.noop),
    ]
