"""What the lead-status update takes (decision 18)."""

from pipeline_backend.api.fields import Input, Uuid


class StatusUpdateInput(Input):
    """The status to move to."""

    status_id = Uuid(help_text="A status of the lead board, from the statuses list.")
