"""Fills a database of version 0.2.0 with a few rows in each table. It runs in a checkout of that version.

`0.2.0.sql.gz` was made from commit 26f304a with these commands, on an empty database of PostgreSQL 18 whose owner is
`pipeline`. All secrets in it are made up.

    export SECRET_KEY=none FIELD_ENCRYPTION_KEYS=dXBncmFkZS10ZXN0cy1vbmx5LW5vdC1hLXNlY3JldCE=
    python manage.py migrate && python manage.py shell < …/tests/upgrade/fill_0_2_0.py
    pg_dump --no-owner "$DATABASE_URL" | grep -v restrict | gzip -9 > 0.2.0.sql.gz
"""

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client

from dev.demo import loading
from notifications.models import Kind
from notifications.services import mute, queue
from organizations import keys, services
from organizations.actors import SYSTEM
from organizations.models import Membership, Organization, User
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.replays import replay_since
from webhooks.services import add_endpoint

KEY = keys.KeyText(key_id="Upgrade02000", secret="OnlyForTestsOnlyForTestsOnlyFor0")
SECRETS = ["whsec_" + character * 43 + "=" for character in "AE"]
BODY = {
    "external_reference": "upgrade-1",
    "schedule_time": "2030-01-05T10:00:00Z",
    "lead_email": "ada@example.com",
    "event_type_name": "Strategy call",
}

loading.LEADS, loading.HARBOR_LEADS = 8, 3
organization = loading.load().organization
User.objects.update(password=make_password("only-for-tests", "salt"))
newest = User.objects.order_by("-date_joined", "id").filter(memberships__role="CLOSER").first()
User.objects.filter(pk=newest.pk).update(password="!")  # invited, and has not chosen a password yet
services.new_key = lambda: KEY
services.issue_key(organization=organization, name="Upgrade")

for secret in SECRETS:
    endpoint, _ = add_endpoint(organization=organization, url="https://hooks.example.com/upgrade")
    Endpoint.unscoped.filter(pk=endpoint.pk).update(secret=secret)
endpoint.refresh_from_db()
Endpoint.unscoped.filter(pk=endpoint.pk).update(previous_secret=SECRETS[0], previous_secret_until="2100-01-01T00:00Z")
organization.slack_url = "https://hooks.slack.com/services/T0/B0/only-for-tests"
organization.save(update_fields=["slack_url"])
response = Client().post(
    "/api/external/appointments", BODY, "application/json", headers={"host": "localhost", "x-api-key": KEY.text}
)
assert response.status_code == 201, response.content

first, second = Delivery.unscoped.order_by("created_at")[:2]
Attempt.objects.create(organization=organization, delivery=first, duration_ms=12, status_code=204)
Delivery.unscoped.filter(pk=first.pk).update(state="DONE", attempts=1, finished_at="2026-01-01T00:00Z")
Delivery.unscoped.filter(pk=second.pk).update(state="DEAD", attempts=10, finished_at="2026-01-01T00:00Z")
replay_since(endpoint=second.endpoint, actor=SYSTEM, since=second.created_at)

member = Membership.unscoped.filter(organization=organization).first()
mute(member=member, kinds=["CALL_CANCELED"])
queue(organization=organization, kind=Kind.ENDPOINTS_FAILING, recipients=[member], facts={"endpoints": []})
session = SessionStore()
session["_auth_user_id"] = str(member.user_id)
session.create()
group = Group.objects.create(name="Support")
group.permissions.add(Permission.objects.first())
member.user.groups.add(group)
member.user.user_permissions.add(Permission.objects.first())
LogEntry.objects.create(
    user=member.user,
    content_type=ContentType.objects.get_for_model(Organization),
    object_id=str(organization.pk),
    object_repr=str(organization),
    action_flag=CHANGE,
    change_message="[]",
)
