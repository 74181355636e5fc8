from typing import Literal

ListDeliveriesOfWebhookEndpointStateItem = Literal["CANCELED", "DEAD", "DONE", "PENDING"]

LIST_DELIVERIES_OF_WEBHOOK_ENDPOINT_STATE_ITEM_VALUES: set[ListDeliveriesOfWebhookEndpointStateItem] = {
    "CANCELED",
    "DEAD",
    "DONE",
    "PENDING",
}


def check_list_deliveries_of_webhook_endpoint_state_item(value: str) -> ListDeliveriesOfWebhookEndpointStateItem:
    if value in LIST_DELIVERIES_OF_WEBHOOK_ENDPOINT_STATE_ITEM_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {LIST_DELIVERIES_OF_WEBHOOK_ENDPOINT_STATE_ITEM_VALUES!r}"
    )
