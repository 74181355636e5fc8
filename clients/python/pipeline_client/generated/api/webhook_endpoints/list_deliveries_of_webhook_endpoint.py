from http import HTTPStatus
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.list_deliveries_of_webhook_endpoint_state_item import (
    ListDeliveriesOfWebhookEndpointStateItem,
)
from ...models.validation_error import ValidationError
from ...models.webhook_delivery_list_response import WebhookDeliveryListResponse
from ...types import UNSET, Response, Unset


def _get_kwargs(
    id: UUID,
    *,
    page: int | Unset = 1,
    limit: int | Unset = 10,
    cursor: str | Unset = UNSET,
    count: bool | Unset = True,
    state: list[ListDeliveriesOfWebhookEndpointStateItem] | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["page"] = page

    params["limit"] = limit

    params["cursor"] = cursor

    params["count"] = count

    json_state: list[str] | Unset = UNSET
    if not isinstance(state, Unset):
        json_state = []
        for state_item_data in state:
            state_item: str = state_item_data
            json_state.append(state_item)

    params["state"] = json_state

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/external/webhook-endpoints/{id}/deliveries".format(
            id=quote(str(id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Error | ValidationError | WebhookDeliveryListResponse | None:
    if response.status_code == 200:
        response_200 = WebhookDeliveryListResponse.from_dict(response.json())

        return response_200

    if response.status_code == 400:
        response_400 = ValidationError.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = Error.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = Error.from_dict(response.json())

        return response_403

    if response.status_code == 404:
        response_404 = Error.from_dict(response.json())

        return response_404

    if response.status_code == 429:
        response_429 = Error.from_dict(response.json())

        return response_429

    if response.status_code == 503:
        response_503 = Error.from_dict(response.json())

        return response_503

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[Error | ValidationError | WebhookDeliveryListResponse]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    id: UUID,
    *,
    client: AuthenticatedClient,
    page: int | Unset = 1,
    limit: int | Unset = 10,
    cursor: str | Unset = UNSET,
    count: bool | Unset = True,
    state: list[ListDeliveriesOfWebhookEndpointStateItem] | Unset = UNSET,
) -> Response[Error | ValidationError | WebhookDeliveryListResponse]:
    """List deliveries of a webhook endpoint

     Return one page of the endpoint's deliveries, newest first.

    Args:
        id (UUID):
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.
        state (list[ListDeliveriesOfWebhookEndpointStateItem] | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | ValidationError | WebhookDeliveryListResponse]
    """

    kwargs = _get_kwargs(
        id=id,
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
        state=state,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    id: UUID,
    *,
    client: AuthenticatedClient,
    page: int | Unset = 1,
    limit: int | Unset = 10,
    cursor: str | Unset = UNSET,
    count: bool | Unset = True,
    state: list[ListDeliveriesOfWebhookEndpointStateItem] | Unset = UNSET,
) -> Error | ValidationError | WebhookDeliveryListResponse | None:
    """List deliveries of a webhook endpoint

     Return one page of the endpoint's deliveries, newest first.

    Args:
        id (UUID):
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.
        state (list[ListDeliveriesOfWebhookEndpointStateItem] | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | ValidationError | WebhookDeliveryListResponse
    """

    return sync_detailed(
        id=id,
        client=client,
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
        state=state,
    ).parsed


async def asyncio_detailed(
    id: UUID,
    *,
    client: AuthenticatedClient,
    page: int | Unset = 1,
    limit: int | Unset = 10,
    cursor: str | Unset = UNSET,
    count: bool | Unset = True,
    state: list[ListDeliveriesOfWebhookEndpointStateItem] | Unset = UNSET,
) -> Response[Error | ValidationError | WebhookDeliveryListResponse]:
    """List deliveries of a webhook endpoint

     Return one page of the endpoint's deliveries, newest first.

    Args:
        id (UUID):
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.
        state (list[ListDeliveriesOfWebhookEndpointStateItem] | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | ValidationError | WebhookDeliveryListResponse]
    """

    kwargs = _get_kwargs(
        id=id,
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
        state=state,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    id: UUID,
    *,
    client: AuthenticatedClient,
    page: int | Unset = 1,
    limit: int | Unset = 10,
    cursor: str | Unset = UNSET,
    count: bool | Unset = True,
    state: list[ListDeliveriesOfWebhookEndpointStateItem] | Unset = UNSET,
) -> Error | ValidationError | WebhookDeliveryListResponse | None:
    """List deliveries of a webhook endpoint

     Return one page of the endpoint's deliveries, newest first.

    Args:
        id (UUID):
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.
        state (list[ListDeliveriesOfWebhookEndpointStateItem] | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | ValidationError | WebhookDeliveryListResponse
    """

    return (
        await asyncio_detailed(
            id=id,
            client=client,
            page=page,
            limit=limit,
            cursor=cursor,
            count=count,
            state=state,
        )
    ).parsed
