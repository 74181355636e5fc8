from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.sync_input_request import SyncInputRequest
from ...models.synced_appointment_response import SyncedAppointmentResponse
from ...models.validation_error import ValidationError
from ...types import UNSET, Response, Unset


def _get_kwargs(
    source: str,
    external_reference: str,
    *,
    body: SyncInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "put",
        "url": "/api/external/sync/{source}/appointments/{external_reference}".format(
            source=quote(str(source), safe=""),
            external_reference=quote(str(external_reference), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Error | SyncedAppointmentResponse | ValidationError | None:
    if response.status_code == 200:
        response_200 = SyncedAppointmentResponse.from_dict(response.json())

        return response_200

    if response.status_code == 201:
        response_201 = SyncedAppointmentResponse.from_dict(response.json())

        return response_201

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
) -> Response[Error | SyncedAppointmentResponse | ValidationError]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    source: str,
    external_reference: str,
    *,
    client: AuthenticatedClient,
    body: SyncInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> Response[Error | SyncedAppointmentResponse | ValidationError]:
    """Sync a scheduler's booking

     Store the whole state of a booking, in any order: an older state, or a replaced one, changes
    nothing.

    Requires the scope `sync`.

    Args:
        source (str):
        external_reference (str):
        idempotency_key (str | Unset):
        body (SyncInputRequest): The whole state of a booking, as its scheduler's integration
            knows it.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | SyncedAppointmentResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        source=source,
        external_reference=external_reference,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    source: str,
    external_reference: str,
    *,
    client: AuthenticatedClient,
    body: SyncInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> Error | SyncedAppointmentResponse | ValidationError | None:
    """Sync a scheduler's booking

     Store the whole state of a booking, in any order: an older state, or a replaced one, changes
    nothing.

    Requires the scope `sync`.

    Args:
        source (str):
        external_reference (str):
        idempotency_key (str | Unset):
        body (SyncInputRequest): The whole state of a booking, as its scheduler's integration
            knows it.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | SyncedAppointmentResponse | ValidationError
    """

    return sync_detailed(
        source=source,
        external_reference=external_reference,
        client=client,
        body=body,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    source: str,
    external_reference: str,
    *,
    client: AuthenticatedClient,
    body: SyncInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> Response[Error | SyncedAppointmentResponse | ValidationError]:
    """Sync a scheduler's booking

     Store the whole state of a booking, in any order: an older state, or a replaced one, changes
    nothing.

    Requires the scope `sync`.

    Args:
        source (str):
        external_reference (str):
        idempotency_key (str | Unset):
        body (SyncInputRequest): The whole state of a booking, as its scheduler's integration
            knows it.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | SyncedAppointmentResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        source=source,
        external_reference=external_reference,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    source: str,
    external_reference: str,
    *,
    client: AuthenticatedClient,
    body: SyncInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> Error | SyncedAppointmentResponse | ValidationError | None:
    """Sync a scheduler's booking

     Store the whole state of a booking, in any order: an older state, or a replaced one, changes
    nothing.

    Requires the scope `sync`.

    Args:
        source (str):
        external_reference (str):
        idempotency_key (str | Unset):
        body (SyncInputRequest): The whole state of a booking, as its scheduler's integration
            knows it.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | SyncedAppointmentResponse | ValidationError
    """

    return (
        await asyncio_detailed(
            source=source,
            external_reference=external_reference,
            client=client,
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
