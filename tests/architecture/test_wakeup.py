"""Wake-up messages are published by a thread, so that no request waits for the broker, and merged per receiver."""

import threading

import pytest

from foundation.outbox import wakeup
from tests.faults.stack import wait_for


def test_notifications_during_a_publication_are_merged_into_one_message_per_receiver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    published: list[str] = []
    is_publishing, may_continue = threading.Event(), threading.Event()

    def publish(task: str, model: str, group_id: str) -> bool:
        published.append(group_id)
        is_publishing.set()
        return may_continue.wait(60)

    monkeypatch.setattr(wakeup, "publish", publish)

    wakeup.enqueue(wakeup.WAKE_UP_TASK, "webhooks.delivery", "first")
    assert is_publishing.wait(60)
    for receiver in ("first", "second", "second", "first"):
        wakeup.enqueue(wakeup.WAKE_UP_TASK, "webhooks.delivery", receiver)
    may_continue.set()
    wait_for(lambda: len(published) >= 3)
    wakeup.enqueue(wakeup.WAKE_UP_TASK, "webhooks.delivery", "last")
    wait_for(lambda: "last" in published)

    assert published == ["first", "first", "second", "last"]
