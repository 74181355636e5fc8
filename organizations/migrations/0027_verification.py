from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('organizations', '0026_last_seen'),
    ]

    operations = [
        migrations.AddField(
            model_name='passwordreset',
            name='is_verification',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AlterField(
            model_name='securityevent',
            name='kind',
            field=models.CharField(choices=[('signed_in', 'Signed in'), ('sign_in_failed', 'Sign-in failed'), ('signed_out', 'Signed out'), ('session_ended', 'Session ended'), ('password_changed', 'Password changed'), ('password_reset_requested', 'Password reset requested'), ('password_reset', 'Password reset'), ('email_changed', 'E-mail address changed'), ('email_verified', 'E-mail address verified'), ('two_factor_enabled', 'Two-factor sign-in enabled'), ('two_factor_disabled', 'Two-factor sign-in disabled'), ('two_factor_reset', 'Two-factor sign-in reset by an operator'), ('two_factor_failed', 'Wrong sign-in code'), ('recovery_code_used', 'Recovery code used'), ('recovery_codes_replaced', 'Recovery codes replaced'), ('invited', 'Invited'), ('invitation_accepted', 'Invitation accepted'), ('invitation_declined', 'Invitation declined'), ('invitation_withdrawn', 'Invitation withdrawn'), ('invitations_allowed', 'Invitations allowed again'), ('role_changed', 'Role changed'), ('member_deactivated', 'Member deactivated'), ('member_activated', 'Member activated'), ('member_left', 'Member left'), ('organization_changed', 'Organization changed'), ('lead_erased', 'Lead erased'), ('key_issued', 'API key issued'), ('key_rotated', 'API key rotated'), ('key_revoked', 'API key revoked'), ('exported', 'Rows exported'), ('calendar_address_issued', 'Calendar address created'), ('calendar_address_revoked', 'Calendar address revoked')], editable=False, max_length=30, verbose_name='event'),
        ),
    ]
