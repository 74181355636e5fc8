from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.appointment_import_input_request import AppointmentImportInputRequest
from ...models.appointment_import_response import AppointmentImportResponse
from ...models.error import Error
from ...models.validation_error import ValidationError
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    body: AppointmentImportInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/external/appointments/import",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> AppointmentImportResponse | Error | ValidationError | None:
    if response.status_code == 200:
        response_200 = AppointmentImportResponse.from_dict(response.json())

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
) -> Response[AppointmentImportResponse | Error | ValidationError]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    body: AppointmentImportInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> Response[AppointmentImportResponse | Error | ValidationError]:
    """Import appointments

     Book up to 200 appointments, one after the other. A row that fails stops no other. Safe to repeat.

    No one is notified, unless `notify` is true.

    Args:
        idempotency_key (str | Unset):
        body (AppointmentImportInputRequest): Appointments to book.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[AppointmentImportResponse | Error | ValidationError]
    """

    kwargs = _get_kwargs(
        body=body,
        idempotency_key=idempotency_key,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    body: AppointmentImportInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> AppointmentImportResponse | Error | ValidationError | None:
    """Import appointments

     Book up to 200 appointments, one after the other. A row that fails stops no other. Safe to repeat.

    No one is notified, unless `notify` is true.

    Args:
        idempotency_key (str | Unset):
        body (AppointmentImportInputRequest): Appointments to book.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        AppointmentImportResponse | Error | ValidationError
    """

    return sync_detailed(
        client=client,
        body=body,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    body: AppointmentImportInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> Response[AppointmentImportResponse | Error | ValidationError]:
    """Import appointments

     Book up to 200 appointments, one after the other. A row that fails stops no other. Safe to repeat.

    No one is notified, unless `notify` is true.

    Args:
        idempotency_key (str | Unset):
        body (AppointmentImportInputRequest): Appointments to book.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[AppointmentImportResponse | Error | ValidationError]
    """

    kwargs = _get_kwargs(
        body=body,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    body: AppointmentImportInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> AppointmentImportResponse | Error | ValidationError | None:
    """Import appointments

     Book up to 200 appointments, one after the other. A row that fails stops no other. Safe to repeat.

    No one is notified, unless `notify` is true.

    Args:
        idempotency_key (str | Unset):
        body (AppointmentImportInputRequest): Appointments to book.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        AppointmentImportResponse | Error | ValidationError
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
