from django.db import migrations

# Members who were invited before invitations were rows of their own, and who have never chosen a password or signed in.
UNANSWERED = """
    membership.is_active AND person.is_active AND NOT person.is_superuser
    AND person.last_login IS NULL AND person.password LIKE '!%'
"""
# They are asked for their consent: the new release's workers mail these rows.
INVITE = f"""
INSERT INTO organizations_invitation (
    id, organization_id, email, role, created_at, expires_at, last_sent_at, sent_count,
    state, attempts, claims, next_attempt_at, last_error, is_replay
)
SELECT
    gen_random_uuid(), membership.organization_id, person.email, membership.role,
    now(), now() + interval '7 days', now(), 1, 'PENDING', 0, 0, now(), '', false
FROM organizations_membership AS membership
JOIN organizations_user AS person ON person.id = membership.user_id
WHERE {UNANSWERED}
"""
# An organization whose owners have all never signed in keeps them.
DEACTIVATE = f"""
UPDATE organizations_membership AS membership
SET is_active = false
FROM organizations_user AS person
WHERE person.id = membership.user_id AND {UNANSWERED} AND (
    membership.role <> 'OWNER' OR EXISTS (
        SELECT
        FROM organizations_membership AS other
        JOIN organizations_user AS owner ON owner.id = other.user_id
        WHERE other.organization_id = membership.organization_id AND other.role = 'OWNER' AND other.is_active
            AND owner.is_active AND (owner.last_login IS NOT NULL OR owner.password NOT LIKE '!%')
    )
)
"""
REACTIVATE = """
WITH unanswered AS (
    DELETE FROM organizations_invitation
    WHERE accepted_at IS NULL AND declined_at IS NULL AND withdrawn_at IS NULL AND invited_by_id IS NULL
    RETURNING organization_id, email
)
UPDATE organizations_membership AS membership
SET is_active = true
FROM organizations_user AS person, unanswered
WHERE person.id = membership.user_id AND person.last_login IS NULL AND person.password LIKE '!%'
    AND unanswered.organization_id = membership.organization_id AND lower(unanswered.email) = lower(person.email)
"""


class Migration(migrations.Migration):

    dependencies = [
        ('organizations', '0010_invitation'),
    ]

    operations = [
        migrations.RunSQL([INVITE, DEACTIVATE], [REACTIVATE]),
    ]
