from typing import Literal

CreatedWebhookEndpointResponseStatus = Literal["success"]

CREATED_WEBHOOK_ENDPOINT_RESPONSE_STATUS_VALUES: set[CreatedWebhookEndpointResponseStatus] = {
    "success",
}


def check_created_webhook_endpoint_response_status(value: str) -> CreatedWebhookEndpointResponseStatus:
    if value in CREATED_WEBHOOK_ENDPOINT_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {CREATED_WEBHOOK_ENDPOINT_RESPONSE_STATUS_VALUES!r}")
