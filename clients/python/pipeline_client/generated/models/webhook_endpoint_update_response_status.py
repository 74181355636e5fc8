from typing import Literal

WebhookEndpointUpdateResponseStatus = Literal["success"]

WEBHOOK_ENDPOINT_UPDATE_RESPONSE_STATUS_VALUES: set[WebhookEndpointUpdateResponseStatus] = {
    "success",
}


def check_webhook_endpoint_update_response_status(value: str) -> WebhookEndpointUpdateResponseStatus:
    if value in WEBHOOK_ENDPOINT_UPDATE_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {WEBHOOK_ENDPOINT_UPDATE_RESPONSE_STATUS_VALUES!r}")
