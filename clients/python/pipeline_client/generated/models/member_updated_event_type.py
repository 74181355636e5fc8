from typing import Literal

MemberUpdatedEventType = Literal["member.updated"]

MEMBER_UPDATED_EVENT_TYPE_VALUES: set[MemberUpdatedEventType] = {
    "member.updated",
}


def check_member_updated_event_type(value: str) -> MemberUpdatedEventType:
    if value in MEMBER_UPDATED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {MEMBER_UPDATED_EVENT_TYPE_VALUES!r}")
