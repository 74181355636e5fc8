"""`OptIn.booked_at`: the lead's first booking that isn't before the opt-in, stored so that reports of years are fast.

A call that was entered after its time, such as an imported one, counts as booked at that time: an old call is no
booking after a new opt-in.

1. Whatever adds, moves or deletes an opt-in or a booking marks its lead in the same transaction (triggers, migration
   0031): a row for each changed row, so the cost is in proportion to the change.
2. A report ignores `booked_at` of a marked lead's opt-ins, and finds their bookings itself, in the same statement
   (`BOOKED_AT` in `reports.py`).
3. The task reads marks, then bookings, and then deletes these marks, unless it has reached `CHANGES_PER_BATCH`. A
   change that is made meanwhile adds a mark of its own.
"""

from django.db import connection, transaction

from leads.models import Lead
from organizations.models import Organization

# Short transactions, because an open one holds back the newest events of all organizations (docs/decisions/0002).
MARKS_PER_BATCH = 1_000
CHANGES_PER_BATCH = 10_000  # opt-ins
BATCHES_PER_RUN = 100  # more marks than imports and integrations make in a minute; 60,000 slow a report by a second

MARKS = "SELECT id, lead_id FROM appointments_changedlead WHERE organization_id = %s ORDER BY lead_id, id LIMIT %s"
# `times[…]` is the first booking that is not before the opt-in. It is searched in sorted times, because a join of the
# opt-ins and bookings of one lead, which can be thousands (a form's test), would be of millions.
BOOKED = "least(booking.created_at, coalesce(first_booked_for, booked_for, schedule_time))"  # when it counts as booked
FIRST_BOOKING = "times[width_bucket(opt_in.created_at - interval '1 microsecond', times) + 1]"
STORE = f"""
WITH changed AS MATERIALIZED (
    SELECT lead_id, (
        SELECT array_agg({BOOKED} ORDER BY {BOOKED}) FROM appointments_appointment AS booking
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
    """Store `booked_at` of the opt-ins of marked leads, for up to `MARKS_PER_BATCH` marks.

    Leaves out leads that someone else has locked. Returns a number above 0 if there may be more to do.
    """
    with connection.cursor() as cursor:
        cursor.execute(MARKS, [organization.pk, MARKS_PER_BATCH])
        if not (marks := cursor.fetchall()):
            return 0
        found = Lead.objects.of(organization).filter(pk__in={lead_id for _, lead_id in marks})
        # A transaction that writes several opt-ins of a lead has locked the lead, so there is no deadlock.
        leads = list(found.select_for_update(no_key=True, skip_locked=True).values_list("pk", flat=True))
        cursor.execute(STORE, [leads, CHANGES_PER_BATCH])
        if cursor.rowcount == CHANGES_PER_BATCH:
            return CHANGES_PER_BATCH
        cursor.execute(DELETE_MARKS, [[id for id, _ in marks], leads])
        return int(cursor.rowcount)
