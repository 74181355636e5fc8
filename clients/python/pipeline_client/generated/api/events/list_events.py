from http import HTTPStatus
from typing import Any
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.event_list_response import EventListResponse
from ...models.validation_error import ValidationError
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    after: str | Unset = UNSET,
    type_: list[str] | Unset = UNSET,
    limit: int | Unset = 100,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    appointment_id: UUID | Unset = UNSET,
    lead_id: UUID | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["after"] = after

    json_type_: list[str] | Unset = UNSET
    if not isinstance(type_, Unset):
        json_type_ = type_

    params["type"] = json_type_

    params["limit"] = limit

    params["created_from"] = created_from

    params["created_to"] = created_to

    json_appointment_id: str | Unset = UNSET
    if not isinstance(appointment_id, Unset):
        json_appointment_id = str(appointment_id)
    params["appointment_id"] = json_appointment_id

    json_lead_id: str | Unset = UNSET
    if not isinstance(lead_id, Unset):
        json_lead_id = str(lead_id)
    params["lead_id"] = json_lead_id

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/external/events",
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Error | EventListResponse | ValidationError | None:
    if response.status_code == 200:
        response_200 = EventListResponse.from_dict(response.json())

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
) -> Response[Error | EventListResponse | ValidationError]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    after: str | Unset = UNSET,
    type_: list[str] | Unset = UNSET,
    limit: int | Unset = 100,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    appointment_id: UUID | Unset = UNSET,
    lead_id: UUID | Unset = UNSET,
) -> Response[Error | EventListResponse | ValidationError]:
    """List events

     Return the organization's events, oldest first.

    To get all of them, repeat the request with `last_event_id` as `after` until `has_more` is false.

    Args:
        after (str | Unset):
        type_ (list[str] | Unset):
        limit (int | Unset):  Default: 100.
        created_from (str | Unset):
        created_to (str | Unset):
        appointment_id (UUID | Unset):
        lead_id (UUID | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | EventListResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        after=after,
        type_=type_,
        limit=limit,
        created_from=created_from,
        created_to=created_to,
        appointment_id=appointment_id,
        lead_id=lead_id,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    after: str | Unset = UNSET,
    type_: list[str] | Unset = UNSET,
    limit: int | Unset = 100,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    appointment_id: UUID | Unset = UNSET,
    lead_id: UUID | Unset = UNSET,
) -> Error | EventListResponse | ValidationError | None:
    """List events

     Return the organization's events, oldest first.

    To get all of them, repeat the request with `last_event_id` as `after` until `has_more` is false.

    Args:
        after (str | Unset):
        type_ (list[str] | Unset):
        limit (int | Unset):  Default: 100.
        created_from (str | Unset):
        created_to (str | Unset):
        appointment_id (UUID | Unset):
        lead_id (UUID | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | EventListResponse | ValidationError
    """

    return sync_detailed(
        client=client,
        after=after,
        type_=type_,
        limit=limit,
        created_from=created_from,
        created_to=created_to,
        appointment_id=appointment_id,
        lead_id=lead_id,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    after: str | Unset = UNSET,
    type_: list[str] | Unset = UNSET,
    limit: int | Unset = 100,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    appointment_id: UUID | Unset = UNSET,
    lead_id: UUID | Unset = UNSET,
) -> Response[Error | EventListResponse | ValidationError]:
    """List events

     Return the organization's events, oldest first.

    To get all of them, repeat the request with `last_event_id` as `after` until `has_more` is false.

    Args:
        after (str | Unset):
        type_ (list[str] | Unset):
        limit (int | Unset):  Default: 100.
        created_from (str | Unset):
        created_to (str | Unset):
        appointment_id (UUID | Unset):
        lead_id (UUID | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | EventListResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        after=after,
        type_=type_,
        limit=limit,
        created_from=created_from,
        created_to=created_to,
        appointment_id=appointment_id,
        lead_id=lead_id,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    after: str | Unset = UNSET,
    type_: list[str] | Unset = UNSET,
    limit: int | Unset = 100,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    appointment_id: UUID | Unset = UNSET,
    lead_id: UUID | Unset = UNSET,
) -> Error | EventListResponse | ValidationError | None:
    """List events

     Return the organization's events, oldest first.

    To get all of them, repeat the request with `last_event_id` as `after` until `has_more` is false.

    Args:
        after (str | Unset):
        type_ (list[str] | Unset):
        limit (int | Unset):  Default: 100.
        created_from (str | Unset):
        created_to (str | Unset):
        appointment_id (UUID | Unset):
        lead_id (UUID | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | EventListResponse | ValidationError
    """

    return (
        await asyncio_detailed(
            client=client,
            after=after,
            type_=type_,
            limit=limit,
            created_from=created_from,
            created_to=created_to,
            appointment_id=appointment_id,
            lead_id=lead_id,
        )
    ).parsed
