"""The board of leads by status."""

from leads.models import Lead
from leads.services import change_status
from organizations.actors import Actor
from staff.boards.boards import BoardLayout
from staff.boards.cards import short_time
from statuses.models import Board, Status


class LeadBoard(BoardLayout):
    board, status_field, history = Board.LEAD, "status", "status_changes"

    def card_lines(self, row: Lead) -> list[str]:
        at, kind = row.next_touch_point_at, row.get_next_touch_point_type_display() or "Next"
        return [
            f"{kind}: {short_time(at)}" if at else "",
            row.phone_e164 or row.email,
            " · ".join(str(fact) for fact in (row.setter, row.last_source) if fact),
        ]

    def change_status(self, actor: Actor, row: Lead, status: Status) -> None:
        change_status(organization=row.organization, actor=actor, lead_id=row.pk, status_id=status.pk)
