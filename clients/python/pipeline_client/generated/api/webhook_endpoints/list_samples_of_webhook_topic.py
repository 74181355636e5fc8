from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.event_samples_response import EventSamplesResponse
from ...models.validation_error import ValidationError
from ...types import UNSET, Response, Unset


def _get_kwargs(
    topic: str,
    *,
    limit: int | Unset = 3,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["limit"] = limit

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/external/webhook-topics/{topic}/samples".format(
            topic=quote(str(topic), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Error | EventSamplesResponse | ValidationError | None:
    if response.status_code == 200:
        response_200 = EventSamplesResponse.from_dict(response.json())

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
) -> Response[Error | EventSamplesResponse | ValidationError]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    topic: str,
    *,
    client: AuthenticatedClient,
    limit: int | Unset = 3,
) -> Response[Error | EventSamplesResponse | ValidationError]:
    """List samples of a webhook topic

     Return bodies exactly as they are delivered, newest first; without an event the documented example.

    Args:
        topic (str):
        limit (int | Unset):  Default: 3.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | EventSamplesResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        topic=topic,
        limit=limit,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    topic: str,
    *,
    client: AuthenticatedClient,
    limit: int | Unset = 3,
) -> Error | EventSamplesResponse | ValidationError | None:
    """List samples of a webhook topic

     Return bodies exactly as they are delivered, newest first; without an event the documented example.

    Args:
        topic (str):
        limit (int | Unset):  Default: 3.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | EventSamplesResponse | ValidationError
    """

    return sync_detailed(
        topic=topic,
        client=client,
        limit=limit,
    ).parsed


async def asyncio_detailed(
    topic: str,
    *,
    client: AuthenticatedClient,
    limit: int | Unset = 3,
) -> Response[Error | EventSamplesResponse | ValidationError]:
    """List samples of a webhook topic

     Return bodies exactly as they are delivered, newest first; without an event the documented example.

    Args:
        topic (str):
        limit (int | Unset):  Default: 3.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | EventSamplesResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        topic=topic,
        limit=limit,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    topic: str,
    *,
    client: AuthenticatedClient,
    limit: int | Unset = 3,
) -> Error | EventSamplesResponse | ValidationError | None:
    """List samples of a webhook topic

     Return bodies exactly as they are delivered, newest first; without an event the documented example.

    Args:
        topic (str):
        limit (int | Unset):  Default: 3.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | EventSamplesResponse | ValidationError
    """

    return (
        await asyncio_detailed(
            topic=topic,
            client=client,
            limit=limit,
        )
    ).parsed
