"""A client of Pipeline Backend's API: `Pipeline` for the common tasks, `Pipeline.generated` for every operation."""

from pipeline_client.client import Pipeline
from pipeline_client.transport import PipelineError
from pipeline_client.webhooks import WebhookError, verify_webhook

__all__ = ["Pipeline", "PipelineError", "WebhookError", "verify_webhook"]
