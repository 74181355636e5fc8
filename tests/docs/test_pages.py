"""What the pages show works: every command and request is pasted into a running instance, and samples are run.

A block in a language, or a command, that is neither run nor named here with a reason fails.
"""

import json
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently
from django.core.management import get_commands, load_command_class
from django.db import migrations, models
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.utils import timezone
from standardwebhooks.webhooks import Webhook

from dev.local import processes
from tests.commands.runner import file_mode
from tests.docs import guide
from tests.docs.instance import SECONDS, Instance
from tests.docs.pages import PAGES, ROOT, Block, blocks, read_blocks, split_commands
from tests.faults.stack import reserved_port
from tests.integrations import vendors

NOT_RUN_LANGUAGES = {
    "http": "messages as they are sent",
    "ini": "excerpts of other programs' configuration",
    "js": "docs/api.md is run; docs/webhooks.md needs packages of Node",
    "json": "tests/webhooks/test_docs.py writes these",
    "php": "there is no PHP here",
    "ruby": "there is no Ruby here",
    "sql": "tests/deployment/test_managed_database.py runs the same statements",
    "text": "output of programs",
    "yaml": "excerpts of other programs' configuration",
}
# The blocks below these headings change the system, or need other servers.
RUN_ELSEWHERE = {
    ("docs/operate.md", "Without containers"): "tests/deployment/test_without_containers.py",
    ("docs/operate.md", "Upgrading"): "tests/deployment/test_without_containers.py",
    ("docs/operate.md", "Backups"): "tests/deployment/test_backup.py",
    ("docs/operate.md", "Move or delete an organization"): "tests/moving/test_page.py",
}
# The beginnings of commands that can't run in a test.
NOT_RUN = {
    r"make run\b": "the instance itself is started by this command",
    r"docker ": "there is no container engine; tests/deployment runs what its files say",
    r"kubectl ": "there is no cluster; tests/deployment/test_kubernetes.py checks the manifests",
    r"pyftsubset ": "the icon font is made by hand, with packages that nothing else needs",
}
# These take minutes or would run this test again: make only shows what it would do, and named files have to exist.
DRY_RUN = r"(?:\w+=\S+ )*make (?:test|lint|rows|soak|bench|explain|client|pins)\b"
# Nothing else is run: what a page tells an operator to do with a server must never happen here.
RUN = r"(?:\.venv/bin/python (?:manage\.py|-m (?:pipeline_backend|dev)\.)|python3 (?:-c|scripts/))"
RUN += r'|psql "\$DATABASE_URL" -c'
RUN += r"|curl (?:.|\n)*http://(?:127\.0\.0\.1|localhost):8000/"
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
OUTPUTS = {
    "create_organization": UUID,
    "reset_link": r"http://127\.0\.0\.1:\d+/admin/\S+",
    "create_api_key": r"pb_\w+",
    "create_webhook_endpoint": r"whsec_\S+",
    "doctor": r"No problems found in .+",
    "smoke_test": r"(?:.+: (?:ok|\d+)\n)+Everything works\. Nothing was stored or sent\.",
    "health": r"No problems found\.",
}
# The paragraph above a transcript without a command says what to change before the last command is run again.
CHANGES = {
    "Run it again: nothing is booked twice.": ("", ""),
    "Change the time and run it again: the API explains the conflict.": ("T15:00", "T16:00"),
}
DIFFERENT = {UUID: "ID", r"\d{4}-\d\d-\d\dT[\d:.]+Z": "TIME"}


def test_every_block_is_in_a_language_that_is_run_or_listed() -> None:
    unknown = {
        str(block): block.language
        for block in blocks()
        if block.language not in {"sh", "console", "python", *NOT_RUN_LANGUAGES}
    }

    assert unknown == {}


def commands_here(block: Block) -> list[str]:
    """Return the block's commands, without those that are run elsewhere or not at all."""
    if (block.page, block.heading) in RUN_ELSEWHERE or block.page == guide.PAGE:
        return []
    return [command for command in split_commands(block.text) if not re.match("|".join(NOT_RUN), command)]


def test_every_command_is_run_or_listed() -> None:
    unknown = [
        (str(block), command)
        for block in blocks("sh")
        for command in commands_here(block)
        if not re.match(f"{RUN}|{DRY_RUN}", command)
    ]

    assert unknown == []
    assert [path for path in RUN_ELSEWHERE.values() if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("block", [block for block in blocks("sh") if commands_here(block)], ids=str)
def test_the_commands_succeed_and_print_what_the_page_says(instance: Instance, block: Block) -> None:
    dry = [command for command in commands_here(block) if re.match(DRY_RUN, command)]
    run = [command for command in commands_here(block) if re.match(RUN, command)]

    assert missing_tests(dry) == []
    instance.paste(dry, MAKEFLAGS="n")
    outputs = instance.paste(run)

    for command, output in zip(run, outputs, strict=True):
        name = re.search(r"manage\.py (\w+)", command)
        expected = OUTPUTS.get(name[1]) if name else None
        assert expected is None or re.fullmatch(expected, output.removesuffix("\n")), f"{command}{output}"


def missing_tests(commands: list[str]) -> list[str]:
    """Return the paths of tests in the commands that don't exist."""
    paths = re.findall(r"\btests/[\w/.]+", "".join(commands))
    return [path for path in paths if not (ROOT / path).exists()]


@pytest.mark.parametrize("page", sorted({block.page for block in blocks("console")}))
def test_the_answers_are_those_that_the_page_shows(instance: Instance, page: str) -> None:
    command = ""
    for block in (block for block in blocks("console") if block.page == page):
        for new_command, expected in read_transcript(block.text):
            command = new_command or command.replace(*CHANGES[block.before])
            assert re.match(RUN, command), block
            # Without the file in HOME, by which curl fails with an error response.
            [output] = instance.paste([command], HOME=str(instance.folder))
            assert comparable(without_headers(output)) == comparable(instance.place(expected)), block


def read_transcript(text: str) -> list[tuple[str, str]]:
    """Return the commands of a block, each with what it prints; an answer alone has an empty command."""
    if not text.startswith("$ "):
        return [("", text)]
    steps = re.split(r"^\$ ((?:.*\\\n)*.*\n)", text, flags=re.MULTILINE)[1:]
    return list(zip(steps[::2], steps[1::2], strict=True))


def without_headers(output: str) -> str:
    """Return the output of `curl -i` without the headers, which pages leave out."""
    head, separator, body = output.replace("\r\n", "\n").partition("\n\n")
    return f"{head.partition(chr(10))[0]}\n{body}" if head.startswith("HTTP/") and separator else output


def comparable(text: str) -> str:
    """Return the text with ids and times replaced, which are different each time."""
    for pattern, name in DIFFERENT.items():
        text = re.sub(pattern, name, text)
    return text.rstrip("\n")


@pytest.mark.parametrize("language", guide.LANGUAGES)
def test_the_examples_of_the_api_guide_do_what_their_headings_say(instance: Instance, language: str, tmp_path: Path):
    examples, tasks = guide.Examples(instance, language, tmp_path), set(guide.HEADINGS)
    position = examples.get("events?after=latest")["last_event_id"]
    (tmp_path / "last_event_id").write_text(position)

    def run(heading: str, **variables: str) -> str:
        tasks.discard(heading)
        return examples.run(heading, LAST_EVENT_ID=position, **variables)

    for heading in ("Before you start", "Catch up after an outage", "Mirror everything"):
        run(heading)
    subscribed = run("Receive events")
    examples.lose_secret()
    run("Receive events")
    with examples.receiver() if language != "sh" else nullcontext() as log:
        for _ in range(2):
            run("Book from a form")
            assert examples.booking() == ("2027-03-01T15:00:00.000Z", "APPOINTMENT_BOOKED")
        if log:
            forged = {"webhook-id": "1", "webhook-timestamp": str(int(time.time()))}
            for signature in ({}, *({"webhook-signature": text} for text in ("v1,", "x", f"v1,{'é' * 44}"))):
                assert post_event(examples.port, forged | signature) == 401
            assert processes.wait_until(lambda: "appointment.created" in log.read_text(), SECONDS), log.read_text()
            examples.send_test_event()
            assert processes.wait_until(lambda: "webhook.test" in log.read_text(), SECONDS), log.read_text()
        else:
            assert '"secret":"whsec_' in subscribed
    for _ in range(2):
        run("Move a booking")
        assert examples.booking() == ("2027-03-02T16:30:00.000Z", "APPOINTMENT_BOOKED")
    for _ in range(2):
        run("After the call", **examples.ids())
        assert examples.booking() == ("2027-03-02T16:30:00.000Z", "NO_SHOW")
        assert examples.notes() == ["Waited for ten minutes"]
        assert examples.lead_role() == "FOLLOW_UP"
    run("Cancel a booking")
    assert examples.booking() == ("2027-03-02T16:30:00.000Z", "CANCELED")
    assert f"{language}@example.com" in run("Look up a caller")
    if language == "sh":
        assert '"failed":0' in run("Import many rows")
        assert '"applied":true' in run("Relay a scheduler")
        [imported] = examples.get("leads?external_reference=crm-1041")["data"]
        assert '"state":"done"' in examples.run("Erase a person", LEAD_ID=imported["id"])
    tasks -= {"Import many rows", "Relay a scheduler", "Erase a person"}
    assert "appointment.canceled" in run("Catch up after an outage")
    assert f"{examples.reference}-moved" in run("Mirror everything") + examples.copy()
    assert tasks == {guide.FORM}


@pytest.mark.parametrize("language", [language for language in guide.LANGUAGES if language != "sh"])
def test_the_examples_of_a_copy_keep_nothing_of_an_erased_lead_and_begin_anew(
    instance: Instance, language: str, tmp_path: Path
):
    examples, path = guide.Examples(instance, language, tmp_path), tmp_path / "copy.json"
    (tmp_path / "last_event_id").write_text(examples.get("events?after=latest")["last_event_id"])
    for heading in ("Before you start", "Catch up after an outage", "Book from a form", "Mirror everything"):
        examples.run(heading)
    [row] = examples.get(f"appointments?external_reference={examples.reference}")["data"]
    lead_id = row["lead"]["id"]
    status = next(each for each in examples.get("statuses")["data"] if each["type"] != "APPOINTMENT")
    assert lead_id in path.read_text()

    def mirror() -> dict[str, Any]:
        examples.run("Mirror everything")
        rows: dict[str, Any] = json.loads(examples.copy())["rows"]
        assert [row for row in rows.values() if lead_id in (row["id"], row.get("lead", {}).get("id"))] == []
        return rows

    examples.get(f"leads/{lead_id}/erase", method="POST")
    mirror()
    examples.get(f"leads/{lead_id}/status", method="PATCH", status_id=status["id"])
    mirror()
    path.unlink()
    rows = mirror()
    # Its last event is gone, as after a reset.
    path.write_text(json.dumps({"last_event_id": lead_id, "rows": {"1": {"id": "1"}}, "erased": []}))
    assert mirror().keys() == rows.keys()


def post_event(port: int, headers: dict[str, str], body: bytes = b'{"id": "1", "type": "lead.created"}') -> int:
    """Send an event with these headers to the receiver, and return the status code of its response."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


if guide.NODE:

    @pytest.mark.parametrize("path", ["", "book?utm_source=x"])
    def test_a_form_that_is_sent_twice_is_one_opt_in_or_booking(instance: Instance, tmp_path: Path, path: str):
        examples = guide.Examples(instance, "js", tmp_path)
        examples.run("Before you start")

        with examples.relay() as url:
            form = fill_in(read(url + path))
            answers = [send_form(url + path, form) for _ in range(2)]
            forged = send_form(url + path, form | {"reference": "../submissions"})
            refused = send_form(url + path, fill_in(read(url + path)) | {"first_name": "x" * 300})

        assert answers == [(200, "Thank you.")] * 2
        assert forged == (400, "This did not work.")
        assert refused[0] == 400
        assert re.fullmatch(r"Please go back and correct this: \w*first_name must be at most 255 .+", refused[1])
        assert examples.stored(form["reference"]) == {"": (1, 0), "book?utm_source=x": (0, 1)}[path]
        assert not list((tmp_path / "submissions").glob(form["reference"]))

    def test_a_form_sent_while_the_service_is_down_is_kept(instance: Instance, tmp_path: Path):
        examples = guide.Examples(instance, "js", tmp_path)
        examples.run("Before you start")
        program = tmp_path / "pipeline.mjs"
        program.write_text(program.read_text().replace(instance.url, f"http://127.0.0.1:{reserved_port()}"))

        with examples.relay() as url:
            form = fill_in(read(f"{url}book"))
            answer = send_form(f"{url}book", form)

        assert answer == (200, "Thank you.")
        path, fields = json.loads((tmp_path / "submissions" / form["reference"]).read_text())
        assert (path, fields["schedule_time"]) == ("/api/external/appointments", form["utc"])

    def fill_in(page: str) -> dict[str, str]:
        reference = re.search(r'name="reference" value="(.+?)"', page)
        assert reference
        form = {"reference": reference[1], "first_name": "Grace", "email": "form@example.com"}
        return form | ({"utc": "2027-04-01T15:00:00.000Z"} if 'name="utc"' in page else {})

    def send_form(url: str, form: dict[str, str]) -> tuple[int, str]:
        try:
            return 200, read(url, urllib.parse.urlencode(form).encode())
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


def test_a_relay_from_the_service_stores_a_booking(instance: Instance, tmp_path: Path):
    examples = guide.Examples(instance, "python", tmp_path)
    download, *_ = [block for block in read_blocks(ROOT / "integrations/README.md") if block.language == "sh"]
    subprocess.run(["bash", "-euc", instance.place(download.text)], cwd=tmp_path, check=True, timeout=SECONDS)
    settings = {"SERVICE_URL": instance.url, "API_KEY": instance.key, "WEBHOOK_SECRET": vendors.SECRET.decode()}
    body = vendors.encode(vendors.CALENDLY)
    [signature] = vendors.calendly_signature(body).values()

    with examples.serve("-m", "integrations.calendly", **settings):
        status = post_event(examples.port, {"Calendly-Webhook-Signature": signature}, body)

    assert status == 200
    reference = vendors.CALENDLY["payload"]["uri"].rpartition("/")[2]
    assert examples.get(f"appointments?external_reference={reference}")["pagination"]["total"] == 1


def test_what_make_run_prints_works_and_the_inbox_shows_its_webhooks_and_the_email(instance: Instance) -> None:
    text = re.sub(r"^(?!curl|\.venv| +-).*\n", "", instance.log.partition("is running at")[2], flags=re.MULTILINE)
    book, listing, doctor = split_commands(text)

    first, second, page, checked = map(without_headers, instance.paste([book, book, listing, doctor]))

    assert first.startswith("HTTP/1.1 201 ")
    assert second.startswith("HTTP/1.1 200 ")
    assert json.loads(page)["success"] is True
    assert re.fullmatch(OUTPUTS["doctor"], checked.strip())
    id = json.loads(first.splitlines()[-1])["data"]["id"]
    assert processes.wait_until(lambda: has_arrived(instance, id), SECONDS)


def test_the_demo_of_a_local_run_is_private_and_its_events_are_in_chronological_order(instance: Instance) -> None:
    request = urllib.request.Request(f"{instance.url}/api/external/events?limit=100")
    request.add_header("X-Api-Key", instance.demo["api_key"])
    with urllib.request.urlopen(request, timeout=SECONDS) as response:
        events = json.load(response)["data"]

    assert file_mode(instance.folder / ".data/demo.json") == 0o600
    assert {event["type"] for event in events} >= {"opt_in.created", "lead.created"}
    assert [event["timestamp"] for event in events] == sorted(event["timestamp"] for event in events)


def has_arrived(instance: Instance, appointment: str) -> bool:
    """Return whether the local inbox has the events of the booking, and the e-mail with its calendar entry."""
    inbox = read(f"{instance.url}/local/")
    mails = [path.read_text() for path in (instance.folder / ".data" / "mail").glob("*")]
    return all(text in inbox for text in ("lead.created", "appointment.created", appointment, "Call Booked")) and any(
        "Call Booked" in mail and "text/calendar" in mail for mail in mails
    )


def read(url: str, form: bytes | None = None) -> str:
    """Return the content of a page, which has to answer with success."""
    with urllib.request.urlopen(url, form, timeout=SECONDS) as response:
        return str(response.read().decode())


def test_every_address_of_a_local_run_answers(instance: Instance) -> None:
    texts = [page.read_text() for page in PAGES]
    urls = {url for text in texts for url in re.findall(r"<(http://(?:127\.0\.0\.1|localhost):8000[^>]*)>", text)}

    assert len(urls) >= 4
    for url in urls:
        assert read(instance.place(url))


def test_commands_named_in_the_text_exist_with_these_options() -> None:
    makefile = (ROOT / "Makefile").read_text()
    unknown = []
    for page in PAGES:
        for name, arguments in re.findall(r"`[^`\n]*manage\.py (\w+)([^`\n]*)`", page.read_text()):
            options = re.findall(r"--[\w-]+", arguments)
            unknown += [(page.name, name)] if name not in get_commands() else []
            unknown += [(page.name, name, option) for option in options if option not in command_options(name)]
        targets = re.findall(r"`(?:\w+=\S+ )*make (\w+)[^`\n]*`", page.read_text())
        unknown += [(page.name, target) for target in targets if f"\n{target}:" not in makefile]

    assert unknown == []


def command_options(name: str) -> set[str]:
    """Return the options of a management command, and those of all commands."""
    command = get_commands()[name]
    if isinstance(command, str):
        command = load_command_class(command, name)
    return set(command.create_parser("manage.py", name)._option_string_actions)


def test_the_python_samples_are_those_that_are_run_here() -> None:
    pages = [block.page for block in blocks("python") if block.page != guide.PAGE]

    assert pages == ["CONTRIBUTING.md", "docs/webhooks.md"]


def sample(page: str, names: dict[str, Any]) -> dict[str, Any]:
    """Run the sample of a page, with names that it leaves to the reader, and return all names."""
    [block] = [block for block in blocks("python") if block.page == page]
    exec(block.text, names)  # noqa: S102 - it is ours
    return names


def test_the_sample_of_a_migration_can_be_reversed() -> None:
    names = {"migrations": migrations, "models": models, "AddIndexConcurrently": AddIndexConcurrently}
    migration = sample("CONTRIBUTING.md", names)["Migration"]("0001_initial", "leads")

    assert migration.atomic is False
    assert [operation.reversible for operation in migration.operations] == [True, True, True]


def test_the_sample_of_a_receiver_accepts_signed_events_only() -> None:
    secret, events = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", []
    receive = sample(
        "docs/webhooks.md", {"SECRET": secret, "HttpResponse": HttpResponse, "handle_later": events.append}
    )["receive"]
    body, now = '{"type": "webhook.test"}', timezone.now()
    signature = Webhook(secret).sign("id-1", now, body)

    def request(text: str) -> HttpRequest:
        headers = {"webhook-id": "id-1", "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": signature}
        return RequestFactory().post("/pipeline", text, content_type="application/json", headers=headers)

    assert receive(request(body)).status_code == 204
    assert receive(request(body + " ")).status_code == 401
    signature = "no signature"
    assert receive(request(body)).status_code == 401
    assert events == [{"type": "webhook.test"}]
