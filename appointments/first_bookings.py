"""When an opt-in was booked: its lead's first booking that isn't before it. Reports of years read it from the opt-in.

1. Whatever adds, moves or deletes an opt-in or a booking marks its lead in the same transaction (triggers, migration
   0031): a row for each changed row, so the cost is in proportion to the change.
2. `booked_at` of a marked lead's opt-ins doesn't count: their bookings are read. A single statement decides and reads.
3. The task reads the marks, then the bookings, and then deletes the marks that it has read, unless there is more to
   store than it may at once. A change that it misses has a mark that it has not read.
"""

from django.db import connection, transaction

from leads.models import Lead
from organizations.models import Organization

# Of marks, and of opt-ins to change: while the transaction is open, no organization sees newer events.
BATCH = 1_000
MOST_CHANGES = 10_000
BATCHES_PER_RUN = 100  # more a minute than any import or integration changes: 60,000 marks cost a report a second

MARKS = "SELECT id, lead_id FROM appointments_changedlead WHERE organization_id = %s ORDER BY lead_id, id LIMIT %s"
# `times[…]` is the first booking that is not before the opt-in. It is searched in sorted times, because a join of the
# opt-ins and bookings of one lead, which can be thousands (a form's test), would be of millions.
FIRST_BOOKING = "times[width_bucket(opt_in.created_at - interval '1 microsecond', times) + 1]"
STORE = f"""
WITH changed AS MATERIALIZED (
    SELECT lead_id, (
        SELECT array_agg(created_at ORDER BY created_at) FROM appointments_appointment AS booking
        WHERE booking.lead_id = lead.lead_id
    ) AS times
    FROM unnest(%s::uuid[]) AS lead (lead_id)
), wrong AS MATERIALIZED (
    SELECT opt_in.id, {FIRST_BOOKING} AS booked_at
    FROM optins_optin AS opt_in JOIN changed ON changed.lead_id = opt_in.lead_id
    WHERE opt_in.booked_at IS DISTINCT FROM {FIRST_BOOKING}
    LIMIT %s
)
UPDATE optins_optin AS opt_in SET booked_at = wrong.booked_at FROM wrong WHERE wrong.id = opt_in.id
"""  # noqa: S608  # its own text
DELETE_MARKS = """
DELETE FROM appointments_changedlead AS mark
WHERE id = ANY(%s) AND (lead_id = ANY(%s) OR NOT EXISTS (SELECT FROM leads_lead WHERE id = mark.lead_id))
"""


@transaction.atomic
def store_first_bookings(*, organization: Organization) -> int:
    """Store when the opt-ins of a batch of marked leads were booked. Returns how many times or marks it has handled.

    Leaves out leads that someone else has locked.
    """
    with connection.cursor() as cursor:
        cursor.execute(MARKS, [organization.pk, BATCH])
        if not (marks := cursor.fetchall()):
            return 0
        found = Lead.objects.of(organization).filter(pk__in={lead_id for _, lead_id in marks})
        # A transaction that writes several opt-ins of a lead has locked the lead, so there is no deadlock.
        leads = list(found.select_for_update(no_key=True, skip_locked=True).values_list("pk", flat=True))
        cursor.execute(STORE, [leads, MOST_CHANGES])
        if cursor.rowcount == MOST_CHANGES:
            return MOST_CHANGES
        cursor.execute(DELETE_MARKS, [[id for id, _ in marks], leads])
        return int(cursor.rowcount)
