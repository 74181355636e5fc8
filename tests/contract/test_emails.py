"""E-mail addresses: ASCII before the @, and a domain is one in both of its forms (docs/interface.md, G17, L1)."""

import sys
from contextlib import suppress
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.core.management import CommandError
from django.db import connection
from django.test import Client

from foundation.api.emails import parse_email, spellings
from leads.models import Lead
from organizations.models import Invitation, Membership, Organization, User
from organizations.services import add_member
from tests.client import ApiClient
from tests.commands.runner import run
from tests.factories import make_member, owner_of, snapshot_of
from tests.imports.files import Page, csv_file
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client

READABLE, ENCODED = "ada@münchen.example", "ada@xn--mnchen-3ya.example"
SAME = [READABLE, ENCODED, "Ada@MÜNCHEN.example", "ADA@XN--MNCHEN-3YA.EXAMPLE", "ada@mu\u0308nchen.example"]
NOT_ASCII = ["\u212aate@example.com", "\u0130van@example.com", "d\u0131ana@example.com", "ro\u017fe@example.com"]
LIKE_ASCII = ["kate@example.com", "ivan@example.com", "diana@example.com", "rose@example.com"]
DOTTED = "victor@\u0130nsite.com"  # PostgreSQL's lower() makes it victor@insite.com, another domain
SAME_AS_DOTTED = [DOTTED, "victor@i\u0307nsite.com", "VICTOR@xn--insite-pyd.com"]
INVISIBLE = ["ad\u200ba@example.com", "ada@exa\u200bmple.com", "ada@example.com\u2060"]
REFUSED = "must have only ASCII characters before the @"


@pytest.fixture
def owner(organization: Organization) -> Client:
    return logged_in_client(owner_of(organization))


def emails(organization: Organization) -> list[str]:
    return list(Lead.objects.of(organization).order_by("created_at", "id").values_list("email", flat=True))


@pytest.mark.parametrize(("email", "twin"), list(zip(NOT_ASCII, LIKE_ASCII, strict=True)))
def test_another_letter_before_the_at_is_refused_and_is_not_the_lead_with_an_ascii_letter(
    api: ApiClient, organization: Organization, email: str, twin: str
) -> None:
    api.submit(email=twin)
    make_member(organization, twin)
    before = snapshot_of(organization)

    submitted, booked, hosted = api.submit(email=email), api.book(lead_email=email), api.book(host_email=email)

    for response, field in ((submitted, "email"), (booked, "lead_email"), (hosted, "host_email")):
        assert (response.status_code, response.json()["errors"]) == (400, {field: [f"{field} {REFUSED}"]})
    assert snapshot_of(organization) == before
    assert api.get_data("/api/external/leads", {"email": email}) == []
    assert api.get_data("/api/external/leads", {"setter": email}) == []


def test_forms_refuse_the_same_addresses(owner: Client, organization: Organization) -> None:
    before = snapshot_of(organization)
    pages: list[tuple[Any, str, dict[str, Any]]] = [
        (Lead, "email", {}),
        (Invitation, "email", {"role": "CLOSER"}),
    ]

    for model, field, values in pages:
        url = admin_url(model, "add")
        for email in [*NOT_ASCII, *INVISIBLE[:2]]:
            assert form_errors(owner.post(url, form_data(owner, url, **{field: email}, **values))) != []

    assert snapshot_of(organization) == before
    assert not Invitation.objects.of(organization).exists()


def test_the_form_says_what_is_wrong(owner: Client) -> None:
    url = admin_url(Lead, "add")

    response = owner.post(url, form_data(owner, url, email=NOT_ASCII[0]))

    assert form_errors(response) == ["Use only ASCII characters before the @."]


def test_an_import_refuses_the_same_addresses(owner: Client, organization: Organization) -> None:
    rows = [[email] for email in (NOT_ASCII[0], INVISIBLE[0], "ada@example.com")]

    page = Page(owner, organization, csv_file(["E-mail"], *rows)).run()

    assert [(verdict, details) for _, verdict, details in page.report()][:2] == [
        ("REFUSED", f"E-mail: “{NOT_ASCII[0]}” {REFUSED}"),
        ("REFUSED", f"E-mail: “{INVISIBLE[0]}” is not an e-mail address"),
    ]
    assert emails(organization) == ["ada@example.com"]


@pytest.mark.parametrize("email", [NOT_ASCII[0], INVISIBLE[1]])
def test_commands_refuse_the_same_addresses(organization: Organization, email: str) -> None:
    before = Organization.objects.count()

    with pytest.raises(CommandError):
        run("create_organization", "Globex", "--owner-email", email)

    assert Organization.objects.count() == before
    assert not User.objects.filter(email=email).exists()


def test_a_lead_of_the_last_version_with_such_an_address_stays_and_can_be_edited(
    owner: Client, api: ApiClient, organization: Organization
) -> None:
    lead_id = api.submit(email="kate@example.com").json()["data"]["lead_id"]
    Lead.objects.of(organization).update(email=NOT_ASCII[0])
    url = admin_url(Lead, "change", lead_id)

    edited = owner.post(url, form_data(owner, url, last_name="Sheppard"))
    stored = emails(organization)
    mended = owner.post(url, form_data(owner, url, email="kate@example.com"))

    assert (edited.status_code, mended.status_code) == (302, 302)
    assert (stored, emails(organization)) == ([NOT_ASCII[0]], ["kate@example.com"])


@pytest.mark.parametrize("first", SAME)
@pytest.mark.parametrize("entrance", ["opt-in", "booking"])
def test_a_domain_is_one_in_all_its_forms_and_shown_in_the_form_that_was_typed_first(
    api: ApiClient, other_api: ApiClient, organization: Organization, first: str, entrance: str
) -> None:
    other_api.submit(email=READABLE)
    others = [email for email in SAME if email != first]
    lead_id = api.submit(email=first).json()["data"]["lead_id"]

    if entrance == "opt-in":
        found = {api.submit(email=email).json()["data"]["lead_id"] for email in others}
    else:
        ids = [api.book(lead_email=email, external_reference=email).json()["data"]["id"] for email in others]
        found = {api.get_appointment(id)["lead"]["id"] for id in ids}

    assert found == {lead_id}
    assert emails(organization) == [parse_email(first)]
    filtered = [api.get_data("/api/external/leads", {"email": email}) for email in SAME]
    assert [[row["id"] for row in rows] for rows in filtered] == [[lead_id]] * len(SAME)


def test_a_domain_with_a_sharp_s_is_not_the_one_with_two(api: ApiClient, organization: Organization) -> None:
    for email in ("ada@straße.example", "ada@strasse.example", "ada@xn--strae-oqa.example"):
        assert api.submit(email=email).status_code < 300

    assert emails(organization) == ["ada@straße.example", "ada@strasse.example"]


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("ada@ｅｘａｍｐｌｅ.com", "ada@example.com"),
        ("ada@\u212aate.example", "ada@kate.example"),
        ("ada@example。com", "ada@example.com"),
        ("Ada@mu\u0308nchen.example", "Ada@münchen.example"),
        ("Ada@MÜNCHEN.Example", "Ada@münchen.example"),
    ],
)
def test_another_way_of_writing_a_domain_is_stored_in_a_common_one(
    api: ApiClient, organization: Organization, typed: str, stored: str
) -> None:
    api.submit(email=typed)

    assert api.submit(email=stored).json()["data"]["is_new_lead"] is False
    assert emails(organization) == [stored]


@pytest.mark.parametrize("is_dotted_first", [True, False])
@pytest.mark.parametrize("entrance", ["opt-in", "booking"])
def test_a_domain_with_a_dotted_capital_i_is_not_the_one_with_an_ascii_letter(
    api: ApiClient, organization: Organization, entrance: str, is_dotted_first: bool
) -> None:
    ascii_only = ["victor@insite.com", "Victor@INSITE.com"]
    typed = [*SAME_AS_DOTTED, *ascii_only] if is_dotted_first else [*ascii_only, *SAME_AS_DOTTED]

    if entrance == "opt-in":
        responses = [api.submit(email=email) for email in typed]
    else:
        responses = [api.book(lead_email=email, external_reference=email) for email in typed]

    assert [response.status_code for response in responses if response.status_code >= 300] == []
    assert sorted(emails(organization)) == ["victor@insite.com", "victor@i\u0307nsite.com"]
    for same in (SAME_AS_DOTTED, ascii_only):
        found = [[row["email"] for row in api.get_data("/api/external/leads", {"email": email})] for email in same]
        assert found == [[parse_email(same[0])]] * len(same)


def test_staff_add_and_invite_both_domains(owner: Client, organization: Organization) -> None:
    for model, values in ((Lead, {}), (Invitation, {"role": "CLOSER"})):
        url = admin_url(model, "add")
        for email in ("victor@insite.com", DOTTED):
            assert owner.post(url, form_data(owner, url, email=email, **values)).status_code == 302

    stored = ["victor@insite.com", "victor@i\u0307nsite.com"]
    assert sorted(emails(organization)) == stored
    assert sorted(Invitation.objects.of(organization).values_list("email", flat=True)) == stored


@pytest.mark.parametrize("email", ["victor@insite.com", *SAME_AS_DOTTED])
def test_a_lead_that_the_last_version_has_stored_with_a_dotted_capital_i_leads_to_no_error(
    api: ApiClient, organization: Organization, email: str
) -> None:
    old = api.submit(email="bob@example.com").json()["data"]["lead_id"]
    Lead.objects.of(organization).filter(pk=old).update(email=DOTTED)

    submitted = api.submit(email=email)
    booked = api.book(lead_email=email)

    # The database takes the stored address for the one with the ASCII letter.
    assert (submitted.status_code, booked.status_code) == (200 if email == "victor@insite.com" else 201, 201)
    assert (submitted.json()["data"]["lead_id"] == old) is (email == "victor@insite.com")
    assert api.get_appointment(booked.json()["data"]["id"])["lead"]["id"] == submitted.json()["data"]["lead_id"]


@pytest.mark.django_db
def test_the_database_finds_every_letter_that_a_domain_may_have() -> None:
    stored = set()
    for letter in map(chr, range(128, sys.maxunicode + 1)):
        if letter.lower() != letter or letter.upper() != letter:
            with suppress(ValueError):
                stored.add(parse_email(f"ada@x{letter}x.example"))

    with connection.cursor() as cursor:
        cursor.execute("SELECT email, lower(email) FROM unnest(%s::text[]) AS email", [sorted(stored)])
        folded = dict(cursor.fetchall())

    assert len(folded) > 500
    assert {email: key for email, key in folded.items() if key not in spellings(email)} == {}


def test_an_address_that_is_too_long_in_its_stored_form_is_refused(api: ApiClient, organization: Organization) -> None:
    before = snapshot_of(organization)

    for letter in ("\u0130", "\u01c5"):
        email = f"{'a' * 230}@{letter * 15}.com"
        assert len(email) < 254
        assert api.submit(email=email).json()["errors"] == {"email": ["email must be an e-mail address"]}

    assert snapshot_of(organization) == before


def test_staff_and_imports_find_the_lead_in_either_form(
    owner: Client, api: ApiClient, organization: Organization
) -> None:
    api.submit(email=READABLE)
    other = api.submit(email="bob@example.com").json()["data"]["lead_id"]
    add, change = admin_url(Lead, "add"), admin_url(Lead, "change", other)

    added = owner.post(add, form_data(owner, add, email=ENCODED))
    changed = owner.post(change, form_data(owner, change, email=ENCODED))
    page = Page(
        owner, organization, csv_file(["E-mail", "Last name"], [ENCODED, "L"], [READABLE, "M"], ["eve@ü.example", "E"])
    ).run()

    for refused in (added, changed):
        [error] = form_errors(refused)
        assert error.startswith("This e-mail belongs to another lead: ")
    assert page.row.counts == {"CHANGED": 1, "REFUSED": 1, "NEW": 1}
    assert emails(organization) == [READABLE, "bob@example.com", "eve@ü.example"]


def test_an_import_never_takes_a_member_with_such_an_address_for_another_one(
    owner: Client, organization: Organization
) -> None:
    make_member(organization, READABLE)
    legacy = make_member(organization, "legacy@acme.example")
    User.objects.filter(pk=legacy.user_id).update(email=NOT_ASCII[0])
    rows = [["a@example.com", ENCODED], ["b@example.com", LIKE_ASCII[0]], ["c@example.com", NOT_ASCII[0]]]

    Page(owner, organization, csv_file(["E-mail", "Setter"], *rows)).run()

    setters = Lead.objects.of(organization).order_by("email").values_list("email", "setter__user__email")
    assert list(setters) == [("a@example.com", READABLE), ("b@example.com", None), ("c@example.com", NOT_ASCII[0])]


def test_members_are_found_in_either_form(api: ApiClient, organization: Organization) -> None:
    make_member(organization, READABLE)
    ids = [
        api.book(external_reference=email, host_email=email, setter_email=email).json()["data"]["id"]
        for email in (READABLE, ENCODED)
    ]

    found = [api.get_data("/api/external/appointments", {"closer": email}) for email in SAME]

    assert [sorted(row["id"] for row in rows) for rows in found] == [sorted(ids)] * len(SAME)


def test_an_account_signs_in_and_is_invited_once_in_either_form(owner: Client, organization: Organization) -> None:
    user = User.objects.create_user(READABLE, "correct horse battery")
    add_member(organization=organization, user=user)
    url = admin_url(Invitation, "add")

    signed_in = [authenticate(None, username=email, password="correct horse battery") for email in SAME]
    response = owner.post(url, form_data(owner, url, email=ENCODED, role="CLOSER"))

    assert signed_in == [user] * len(SAME)
    assert form_errors(response) == ["Already belongs to a member"]


def test_two_accounts_that_the_last_version_has_stored_both_sign_in(organization: Organization) -> None:
    users = [User.objects.create_user(email, "correct horse battery") for email in (READABLE, ENCODED)]

    signed_in = [authenticate(None, username=email, password="correct horse battery") for email in (READABLE, ENCODED)]

    assert signed_in == users


def test_two_leads_that_the_last_version_has_stored_are_each_found_by_their_own_form(
    api: ApiClient, organization: Organization
) -> None:
    first = api.submit(email=READABLE).json()["data"]["lead_id"]
    second = api.submit(email="bob@example.com").json()["data"]["lead_id"]
    Lead.objects.of(organization).filter(pk=second).update(email=ENCODED)

    found = [api.submit(email=email).json()["data"]["lead_id"] for email in (READABLE, ENCODED)]

    assert found == [first, second]
    assert Membership.objects.of(organization).count() == 1


def test_a_hostile_domain_costs_no_more_than_its_length_allows(api: ApiClient) -> None:
    marks = "\u0301" * 16_000 + "\u0327" * 16_000

    assert api.submit(email=f"ada@{marks}.example").status_code == 400
    assert api.get_data("/api/external/leads", {"email": f"ada@{marks[:2000]}.example"}) == []
    assert api.get_data("/api/external/leads", {"email": INVISIBLE[1]}) == []
    assert spellings(f"ada@{marks}") == [f"ada@{marks}"]
