from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.synced_opt_in_input_request import SyncedOptInInputRequest
from ...models.synced_opt_in_response import SyncedOptInResponse
from ...models.validation_error import ValidationError
from ...types import UNSET, Response, Unset


def _get_kwargs(
    source: str,
    reference: str,
    *,
    body: SyncedOptInInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "put",
        "url": "/api/external/sync/{source}/opt-ins/{reference}".format(
            source=quote(str(source), safe=""),
            reference=quote(str(reference), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Error | SyncedOptInResponse | ValidationError | None:
    if response.status_code == 200:
        response_200 = SyncedOptInResponse.from_dict(response.json())

        return response_200

    if response.status_code == 201:
        response_201 = SyncedOptInResponse.from_dict(response.json())

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
) -> Response[Error | SyncedOptInResponse | ValidationError]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    source: str,
    reference: str,
    *,
    client: AuthenticatedClient,
    body: SyncedOptInInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> Response[Error | SyncedOptInResponse | ValidationError]:
    """Sync an opt-in

     Record a submission, or replace the answers and traffic of the one with the reference by newer ones.

    Requires the scope `sync`.

    Args:
        source (str):
        reference (str):
        idempotency_key (str | Unset):
        body (SyncedOptInInputRequest): The whole state of a form submission, as its source system
            knows it.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | SyncedOptInResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        source=source,
        reference=reference,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    source: str,
    reference: str,
    *,
    client: AuthenticatedClient,
    body: SyncedOptInInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> Error | SyncedOptInResponse | ValidationError | None:
    """Sync an opt-in

     Record a submission, or replace the answers and traffic of the one with the reference by newer ones.

    Requires the scope `sync`.

    Args:
        source (str):
        reference (str):
        idempotency_key (str | Unset):
        body (SyncedOptInInputRequest): The whole state of a form submission, as its source system
            knows it.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | SyncedOptInResponse | ValidationError
    """

    return sync_detailed(
        source=source,
        reference=reference,
        client=client,
        body=body,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    source: str,
    reference: str,
    *,
    client: AuthenticatedClient,
    body: SyncedOptInInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> Response[Error | SyncedOptInResponse | ValidationError]:
    """Sync an opt-in

     Record a submission, or replace the answers and traffic of the one with the reference by newer ones.

    Requires the scope `sync`.

    Args:
        source (str):
        reference (str):
        idempotency_key (str | Unset):
        body (SyncedOptInInputRequest): The whole state of a form submission, as its source system
            knows it.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | SyncedOptInResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        source=source,
        reference=reference,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    source: str,
    reference: str,
    *,
    client: AuthenticatedClient,
    body: SyncedOptInInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> Error | SyncedOptInResponse | ValidationError | None:
    """Sync an opt-in

     Record a submission, or replace the answers and traffic of the one with the reference by newer ones.

    Requires the scope `sync`.

    Args:
        source (str):
        reference (str):
        idempotency_key (str | Unset):
        body (SyncedOptInInputRequest): The whole state of a form submission, as its source system
            knows it.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | SyncedOptInResponse | ValidationError
    """

    return (
        await asyncio_detailed(
            source=source,
            reference=reference,
            client=client,
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
