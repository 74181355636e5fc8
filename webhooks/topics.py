"""The registry of webhook topics. Each app declares its own topics, one line each, in its `topics.py`."""

from dataclasses import dataclass
from functools import cache

from django.utils.module_loading import autodiscover_modules

from foundation.api import sql_serializers as sql
from organizations.serializers import UserSerializer

UTM_NAMES = ("source", "medium", "campaign", "content", "term")

_registry: dict[str, "Topic"] = {}


@dataclass(frozen=True)
class Topic:
    """A kind of event, registered when it is created; integrators know `name` as the event's `type`.

    `is_change`: the body has `previous`, and `also_previous` are untracked fields that it can have. `has_attribution`:
    the body has the UTM columns of the subject's row. `details` are the members of what the body says about the change
    itself. `summary` is a sentence for receivers, in the documentation.
    """

    name: str
    serializer: type[sql.SQLSerializer]
    summary: str
    is_change: bool = False
    also_previous: tuple[str, ...] = ()
    has_attribution: bool = False
    details: type[sql.SQLSerializer] | None = None

    def __post_init__(self) -> None:
        _registry[self.name] = self

    def __str__(self) -> str:
        return self.name

    @property
    def previous(self) -> list[str]:
        untracked = set(self.serializer.untracked) - {*self.also_previous}
        return [name for name in self.serializer.fields if name not in untracked and self.is_change]


@cache
def topics() -> dict[str, Topic]:
    """Return all topics by name, in alphabetical order."""
    # Importing every app's `topics` module fills the registry, the way Django finds `admin` modules.
    autodiscover_modules("topics")
    return dict(sorted(_registry.items()))


def utm_fields() -> list[sql.StringField]:
    return [sql.StringField(null=True, help_text=f"The URL's utm_{name}.") for name in UTM_NAMES]


class AttributionSerializer(sql.SQLSerializer):
    """The UTM values of a booking: those of the lead's latest opt-in before it."""

    utm_source, utm_medium, utm_campaign, utm_content, utm_term = utm_fields()


class TestData(sql.SQLSerializer):
    """The data of a test event."""

    message = sql.StringField(help_text="A sentence for people.")


TEST = Topic(
    "webhook.test",
    serializer=TestData,
    summary="A test that staff or an API key sent to check whether your server responds.",
)
MEMBER_UPDATED = Topic(
    "member.updated",
    serializer=UserSerializer,
    summary="The name, e-mail, image or role of a member changed. Leads and appointments show them as they are now.",
    is_change=True,
)
