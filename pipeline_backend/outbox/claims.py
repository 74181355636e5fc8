"""What can be claimed of a group's jobs: statements that are compiled once, since Django takes longer than PostgreSQL."""

from functools import cached_property
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now

from pipeline_backend.db.compiled import CompiledQuery, Param


class ClaimQueries:
    """A queue's jobs, by groups; every statement asks for the `group`."""

    def __init__(self, queue: Any, batch: int) -> None:
        self.queue = queue
        self.batch = batch

    @cached_property
    def opened(self) -> CompiledQuery[Any]:
        """The group, locked, if it is served at all."""
        groups = self.queue.group_model._base_manager.select_for_update(no_key=True, of=("self",))
        return CompiledQuery(lambda: groups.filter(self.queue.open, pk=Param("group")).values_list("pk"))

    @cached_property
    def busy(self) -> CompiledQuery[Any]:
        """The tokens of the group's leases."""
        leased = self.waiting().filter(lease_token__isnull=False, next_attempt_at__gt=Now())
        return CompiledQuery(lambda: leased.order_by().values_list("lease_token").distinct())

    @cached_property
    def fresh(self) -> CompiledQuery[Any]:
        """A batch of the oldest that were never leased in vain, replays last."""
        return CompiledQuery(lambda: self.never_leased()[: self.batch])

    @cached_property
    def oldest(self) -> CompiledQuery[Any]:
        """The first of them."""
        return CompiledQuery(lambda: self.never_leased()[:1])

    @cached_property
    def suspects(self) -> CompiledQuery[Any]:
        """The one that was leased in vain least often."""
        return CompiledQuery(
            lambda: self.due().filter(claim_count__gt=0).order_by("claim_count", "next_attempt_at", "pk")[:1]
        )

    def never_leased(self) -> Any:
        """Those whose last lease, if there was one, ended with a result."""
        return self.due().filter(claim_count=0).order_by("is_replay", "next_attempt_at", "pk")

    def due(self) -> Any:
        """Those that nobody else is claiming, locked, with what their delivery needs."""
        return self.queue.read(
            self.waiting().filter(next_attempt_at__lte=Now()).select_for_update(skip_locked=True, of=("self",))
        )

    def waiting(self) -> Any:
        """Those that are not at their end."""
        return self.queue.rows.filter(Q(**{f"{self.queue.group}_id": Param("group")}), state="PENDING")
