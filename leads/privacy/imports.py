"""Rows of imported files that are about a lead, and to which no foreign key leads."""

import re
from typing import Any

from django.db import connection

from leads.imports.models import Import, ImportState
from leads.imports.services import cancel_import
from leads.models import Lead

# E-mails and names are compared as whole words: rows of others stay. A phone may be written with spaces and without its
# country, so the last nine digits are compared.
MENTIONING = """
WITH texts AS MATERIALIZED (
    SELECT id, lower(array_to_string(ARRAY(SELECT jsonb_array_elements_text(cells)), ' | ') || ' | ' || details) AS text
    FROM leads_importrow
    WHERE organization_id = %(organization)s
), names AS MATERIALIZED (
    SELECT
        ' ' || nullif(trim(regexp_replace(%(first_name)s, '[^[:alnum:]]+', ' ', 'g')), '') || ' ' AS first_name,
        ' ' || nullif(trim(regexp_replace(%(last_name)s, '[^[:alnum:]]+', ' ', 'g')), '') || ' ' AS last_name
)
DELETE FROM leads_importrow WHERE organization_id = %(organization)s AND id IN (
    SELECT texts.id
    FROM texts
    CROSS JOIN names
    CROSS JOIN LATERAL (SELECT ' ' || regexp_replace(text, '[^[:alnum:]]+', ' ', 'g') || ' ') AS all_words (words)
    WHERE text ~ %(email)s
        OR (
            length(%(digits)s) > 8
            AND position(right(%(digits)s, 9) IN regexp_replace(text, '[^0-9|]', '', 'g')) > 0
        )
        OR (position(first_name IN words) > 0 AND position(last_name IN words) > 0)
)
"""


def forget_imported_rows(lead: Lead) -> None:
    """Delete the rows of imports that mention the lead by e-mail, phone or full name. Runs in the caller's transaction.

    Cancels imports whose file has not been read yet, because it may mention the lead, too.
    """
    organization = lead.organization
    for unread in Import.objects.of(organization).filter(state=ImportState.READING):
        cancel_import(file_import=unread)
    email = re.sub(r"[][{}()*+?.\\^$|]", r"\\\g<0>", lead.email.lower())
    params: dict[str, Any] = {
        "organization": organization.pk,
        "email": rf"(?<![[:alnum:]._+-]){email}(?![[:alnum:]-]|\.[[:alnum:]])",
        "digits": (lead.phone_e164 or "").lstrip("+"),
        "first_name": lead.first_name.lower(),
        "last_name": lead.last_name.lower(),
    }
    with connection.cursor() as cursor:
        cursor.execute(MENTIONING, params)
