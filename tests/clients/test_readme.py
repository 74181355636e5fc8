"""The README's examples run, one after the other, against the live service."""

from typing import Any

import pytest

from tests.client import ApiClient
from tests.docs.pages import ROOT, read_blocks

README = ROOT / "clients/python/README.md"


@pytest.mark.django_db(transaction=True)
def test_every_example_runs(
    live_server: Any, api: ApiClient, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIPELINE_API_KEY", str(api.key))
    names: dict[str, Any] = {}

    for block in read_blocks(README):
        if block.language == "python":
            exec(block.text.replace("http://127.0.0.1:8000", live_server.url), names)  # noqa: S102

    names["pipeline"].close()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[0] in {"ada@example.com", "grace@example.com"}
    assert [line.partition(" already")[0] for line in lines if line.startswith("409")] == [
        "409 external_reference form-2041"
    ]
    assert lines[-1].partition(" ")[0].isupper()
    assert {block.language for block in read_blocks(README)} == {"python", "sh", "json"}
