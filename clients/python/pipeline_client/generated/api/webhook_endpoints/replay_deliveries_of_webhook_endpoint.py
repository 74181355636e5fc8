from http import HTTPStatus
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.replay_input_request import ReplayInputRequest
from ...models.replayed_response import ReplayedResponse
from ...models.validation_error import ValidationError
from ...types import UNSET, Response, Unset


def _get_kwargs(
    id: UUID,
    *,
    body: ReplayInputRequest | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/external/webhook-endpoints/{id}/replay".format(
            id=quote(str(id), safe=""),
        ),
    }

    if not isinstance(body, Unset):
        _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Error | ReplayedResponse | ValidationError | None:
    if response.status_code == 200:
        response_200 = ReplayedResponse.from_dict(response.json())

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

    if response.status_code == 409:
        response_409 = Error.from_dict(response.json())

        return response_409

    if response.status_code == 413:
        response_413 = Error.from_dict(response.json())

        return response_413

    if response.status_code == 415:
        response_415 = Error.from_dict(response.json())

        return response_415

    if response.status_code == 422:
        response_422 = Error.from_dict(response.json())

        return response_422

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
) -> Response[Error | ReplayedResponse | ValidationError]:
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
    body: ReplayInputRequest | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> Response[Error | ReplayedResponse | ValidationError]:
    """Replay deliveries of a webhook endpoint

     Send one delivery again, or everything that the endpoint missed since a time, with the same webhook-
    id.

    Args:
        id (UUID):
        idempotency_key (str | Unset):
        body (ReplayInputRequest | Unset): What to send again: one delivery, or what the endpoint
            missed in a period.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | ReplayedResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        id=id,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    id: UUID,
    *,
    client: AuthenticatedClient,
    body: ReplayInputRequest | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> Error | ReplayedResponse | ValidationError | None:
    """Replay deliveries of a webhook endpoint

     Send one delivery again, or everything that the endpoint missed since a time, with the same webhook-
    id.

    Args:
        id (UUID):
        idempotency_key (str | Unset):
        body (ReplayInputRequest | Unset): What to send again: one delivery, or what the endpoint
            missed in a period.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | ReplayedResponse | ValidationError
    """

    return sync_detailed(
        id=id,
        client=client,
        body=body,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    id: UUID,
    *,
    client: AuthenticatedClient,
    body: ReplayInputRequest | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> Response[Error | ReplayedResponse | ValidationError]:
    """Replay deliveries of a webhook endpoint

     Send one delivery again, or everything that the endpoint missed since a time, with the same webhook-
    id.

    Args:
        id (UUID):
        idempotency_key (str | Unset):
        body (ReplayInputRequest | Unset): What to send again: one delivery, or what the endpoint
            missed in a period.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | ReplayedResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        id=id,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    id: UUID,
    *,
    client: AuthenticatedClient,
    body: ReplayInputRequest | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> Error | ReplayedResponse | ValidationError | None:
    """Replay deliveries of a webhook endpoint

     Send one delivery again, or everything that the endpoint missed since a time, with the same webhook-
    id.

    Args:
        id (UUID):
        idempotency_key (str | Unset):
        body (ReplayInputRequest | Unset): What to send again: one delivery, or what the endpoint
            missed in a period.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | ReplayedResponse | ValidationError
    """

    return (
        await asyncio_detailed(
            id=id,
            client=client,
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
