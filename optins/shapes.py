"""What the interface shows of opt-ins (interface 2.8)."""

from optins.models import OptIn, OptInSource, QuestionAnswer
from pipeline_backend.api.shapes import Choice, Integer, Moment, Nested, Related, Shape, Text, Uuid


class OptInItem(Shape):
    """An opt-in, as lists and appointments show it (interface 2.8)."""

    model = OptIn

    id = Uuid()
    lead_id = Uuid(help="The lead it created or matched.")
    source = Choice(OptInSource)
    provider_form_id = Text(null=True)
    provider_form_name = Text(null=True)
    external_reference = Text(null=True, help="The provider's reference of the submission.")
    created_at = Moment()


class QuestionAnswerShape(Shape):
    """A question and its answer (interface 2.8)."""

    model = QuestionAnswer

    id = Uuid()
    question = Text()
    answer = Text(null=True, help="Null if skipped.")
    position = Integer(help="Display order, from 1.")


class TrafficAttribution(Shape):
    """Where the visit came from (interface 2.8)."""

    model = OptIn

    utm_source = Text(null=True)
    utm_medium = Text(null=True)
    utm_campaign = Text(null=True)
    utm_content = Text(null=True)
    utm_term = Text(null=True)
    referrer = Text(null=True)
    landing_page = Text(null=True)


class Own(Nested):
    """Columns of the same row, grouped as an object."""

    def expression(self, name, prefix):  # type: ignore[no-untyped-def]
        """The inner object, of the same row."""
        return self.shape.expression(prefix)


class OptInDetail(OptInItem):
    """An opt-in with its answers and traffic (interface 2.8)."""

    question_answers = Related(QuestionAnswerShape, lambda outer: QuestionAnswer.unscoped.filter(opt_in=outer("pk")).order_by("position"))
    traffic_attribution = Own(TrafficAttribution)
