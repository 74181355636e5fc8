"""Actors: who made a change. Stored with every change and event (docs/interface.md, K11)."""

from dataclasses import dataclass

from django.db import models

from organizations.models import ApiKey, User


class ActorKind(models.TextChoices):
    STAFF = "STAFF", "Staff member"
    API_KEY = "API_KEY", "API key"
    SYSTEM = "SYSTEM", "System"


@dataclass(frozen=True)
class Actor:
    """A staff member, an API key or the system. Its name is stored, so that histories outlive the user or the key."""

    kind: ActorKind
    id: str
    name: str


SYSTEM = Actor(ActorKind.SYSTEM, "", "System")


def staff_actor(user: User) -> Actor:
    return Actor(ActorKind.STAFF, user.pk, user.get_full_name())


def api_key_actor(key: ApiKey) -> Actor:
    return Actor(ActorKind.API_KEY, key.key_id, key.name)


class ActorFields(models.Model):
    actor_kind = models.CharField(max_length=10, choices=ActorKind.choices, editable=False)
    actor_id = models.CharField(max_length=64, blank=True, editable=False)
    actor_name = models.CharField("by", max_length=600, blank=True, editable=False)

    class Meta:
        abstract = True


def actor_columns(actor: Actor) -> dict[str, str]:
    """Return the actor as keyword arguments for a model with `ActorFields`."""
    return {"actor_kind": actor.kind, "actor_id": actor.id, "actor_name": actor.name}
