"""The doorbell rings from a thread: whoever books does not wait for it, and a receiver is rung for once at a time."""

import threading

import pytest

from pipeline_backend.outbox import wakeup
from tests.faults.stack import wait_for


def test_what_is_wanted_while_it_rings_becomes_one_ring_for_each_receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[str] = []
    is_ringing, may_go_on = threading.Event(), threading.Event()

    def send(task: str, group_id: str) -> None:
        rung.append(group_id)
        is_ringing.set()
        may_go_on.wait(10)

    monkeypatch.setattr(wakeup, "_publish", send)

    wakeup._enqueue("webhooks.deliver_due", "first")
    assert is_ringing.wait(10)
    for receiver in ("first", "second", "second", "first"):
        wakeup._enqueue("webhooks.deliver_due", receiver)
    may_go_on.set()
    wait_for(lambda: len(rung) >= 3, seconds=10)
    wakeup._enqueue("webhooks.deliver_due", "last")
    wait_for(lambda: "last" in rung, seconds=10)

    assert rung == ["first", "first", "second", "last"]
