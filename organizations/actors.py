"""Who did it: recorded with every change (decision 21)."""

from dataclasses import dataclass

from django.db import models

from organizations.models import ApiKey, User


class ActorKind(models.TextChoices):
    """The three kinds of actors."""

    STAFF = "STAFF", "Staff member"
    API_KEY = "API_KEY", "API key"
    SYSTEM = "SYSTEM", "System"


@dataclass(frozen=True)
class Actor:
    """A staff member, a key, or the system; `name` is what people read later, even if the actor is gone."""

    kind: ActorKind
    id: str
    name: str


SYSTEM = Actor(ActorKind.SYSTEM, "", "System")


def staff_actor(user: User) -> Actor:
    """A person at the admin."""
    return Actor(ActorKind.STAFF, user.pk, user.get_full_name())


def api_key_actor(key: ApiKey) -> Actor:
    """An integration."""
    return Actor(ActorKind.API_KEY, key.key_id, key.name)


class ActorFields(models.Model):
    """Columns that say who did something."""

    actor_kind = models.CharField(max_length=10, choices=ActorKind.choices, editable=False)
    actor_id = models.CharField(max_length=64, blank=True, editable=False)
    actor_name = models.CharField("by", max_length=600, blank=True, editable=False)

    class Meta:
        abstract = True


def actor_columns(actor: Actor) -> dict[str, str]:
    """The actor as those columns."""
    return {"actor_kind": actor.kind, "actor_id": actor.id, "actor_name": actor.name}
