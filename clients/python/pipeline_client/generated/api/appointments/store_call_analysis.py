from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.call_analysis_input_request import CallAnalysisInputRequest
from ...models.call_analysis_response import CallAnalysisResponse
from ...models.error import Error
from ...models.validation_error import ValidationError
from ...types import UNSET, Response, Unset


def _get_kwargs(
    call_analysis_call_id: str,
    *,
    body: CallAnalysisInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "put",
        "url": "/api/external/call-analyses/{call_analysis_call_id}".format(
            call_analysis_call_id=quote(str(call_analysis_call_id), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> CallAnalysisResponse | Error | ValidationError | None:
    if response.status_code == 200:
        response_200 = CallAnalysisResponse.from_dict(response.json())

        return response_200

    if response.status_code == 201:
        response_201 = CallAnalysisResponse.from_dict(response.json())

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
) -> Response[CallAnalysisResponse | Error | ValidationError]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    call_analysis_call_id: str,
    *,
    client: AuthenticatedClient,
    body: CallAnalysisInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> Response[CallAnalysisResponse | Error | ValidationError]:
    """Store a call analysis

     Store the analysis of a call at its appointment, or replace the one that is stored. Safe to repeat.

    The appointment is named by its id or a reference, or found by host and time.

    Args:
        call_analysis_call_id (str):
        idempotency_key (str | Unset):
        body (CallAnalysisInputRequest): The analysis of a call, and the appointment that it
            belongs to.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[CallAnalysisResponse | Error | ValidationError]
    """

    kwargs = _get_kwargs(
        call_analysis_call_id=call_analysis_call_id,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    call_analysis_call_id: str,
    *,
    client: AuthenticatedClient,
    body: CallAnalysisInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> CallAnalysisResponse | Error | ValidationError | None:
    """Store a call analysis

     Store the analysis of a call at its appointment, or replace the one that is stored. Safe to repeat.

    The appointment is named by its id or a reference, or found by host and time.

    Args:
        call_analysis_call_id (str):
        idempotency_key (str | Unset):
        body (CallAnalysisInputRequest): The analysis of a call, and the appointment that it
            belongs to.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        CallAnalysisResponse | Error | ValidationError
    """

    return sync_detailed(
        call_analysis_call_id=call_analysis_call_id,
        client=client,
        body=body,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    call_analysis_call_id: str,
    *,
    client: AuthenticatedClient,
    body: CallAnalysisInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> Response[CallAnalysisResponse | Error | ValidationError]:
    """Store a call analysis

     Store the analysis of a call at its appointment, or replace the one that is stored. Safe to repeat.

    The appointment is named by its id or a reference, or found by host and time.

    Args:
        call_analysis_call_id (str):
        idempotency_key (str | Unset):
        body (CallAnalysisInputRequest): The analysis of a call, and the appointment that it
            belongs to.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[CallAnalysisResponse | Error | ValidationError]
    """

    kwargs = _get_kwargs(
        call_analysis_call_id=call_analysis_call_id,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    call_analysis_call_id: str,
    *,
    client: AuthenticatedClient,
    body: CallAnalysisInputRequest,
    idempotency_key: str | Unset = UNSET,
) -> CallAnalysisResponse | Error | ValidationError | None:
    """Store a call analysis

     Store the analysis of a call at its appointment, or replace the one that is stored. Safe to repeat.

    The appointment is named by its id or a reference, or found by host and time.

    Args:
        call_analysis_call_id (str):
        idempotency_key (str | Unset):
        body (CallAnalysisInputRequest): The analysis of a call, and the appointment that it
            belongs to.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        CallAnalysisResponse | Error | ValidationError
    """

    return (
        await asyncio_detailed(
            call_analysis_call_id=call_analysis_call_id,
            client=client,
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
