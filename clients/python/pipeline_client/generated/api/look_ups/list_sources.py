from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.source_item_list_response import SourceItemListResponse
from ...models.validation_error import ValidationError
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    page: int | Unset = 1,
    limit: int | Unset = 10,
    cursor: str | Unset = UNSET,
    count: bool | Unset = True,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["page"] = page

    params["limit"] = limit

    params["cursor"] = cursor

    params["count"] = count

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/external/sources",
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Error | SourceItemListResponse | ValidationError | None:
    if response.status_code == 200:
        response_200 = SourceItemListResponse.from_dict(response.json())

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
) -> Response[Error | SourceItemListResponse | ValidationError]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    page: int | Unset = 1,
    limit: int | Unset = 10,
    cursor: str | Unset = UNSET,
    count: bool | Unset = True,
) -> Response[Error | SourceItemListResponse | ValidationError]:
    """List sources

     Return one page of the organization's sources, ordered by name.

    Args:
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | SourceItemListResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    page: int | Unset = 1,
    limit: int | Unset = 10,
    cursor: str | Unset = UNSET,
    count: bool | Unset = True,
) -> Error | SourceItemListResponse | ValidationError | None:
    """List sources

     Return one page of the organization's sources, ordered by name.

    Args:
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | SourceItemListResponse | ValidationError
    """

    return sync_detailed(
        client=client,
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    page: int | Unset = 1,
    limit: int | Unset = 10,
    cursor: str | Unset = UNSET,
    count: bool | Unset = True,
) -> Response[Error | SourceItemListResponse | ValidationError]:
    """List sources

     Return one page of the organization's sources, ordered by name.

    Args:
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | SourceItemListResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    page: int | Unset = 1,
    limit: int | Unset = 10,
    cursor: str | Unset = UNSET,
    count: bool | Unset = True,
) -> Error | SourceItemListResponse | ValidationError | None:
    """List sources

     Return one page of the organization's sources, ordered by name.

    Args:
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | SourceItemListResponse | ValidationError
    """

    return (
        await asyncio_detailed(
            client=client,
            page=page,
            limit=limit,
            cursor=cursor,
            count=count,
        )
    ).parsed
