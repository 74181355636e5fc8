from http import HTTPStatus
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.lead_note_item_list_response import LeadNoteItemListResponse
from ...models.validation_error import ValidationError
from ...types import UNSET, Response, Unset


def _get_kwargs(
    id: UUID,
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
        "url": "/api/external/leads/{id}/notes".format(
            id=quote(str(id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Error | LeadNoteItemListResponse | ValidationError | None:
    if response.status_code == 200:
        response_200 = LeadNoteItemListResponse.from_dict(response.json())

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
) -> Response[Error | LeadNoteItemListResponse | ValidationError]:
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
) -> Response[Error | LeadNoteItemListResponse | ValidationError]:
    """List notes of a lead

     Return one page of the lead's notes, newest first.

    Args:
        id (UUID):
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | LeadNoteItemListResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        id=id,
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
    id: UUID,
    *,
    client: AuthenticatedClient,
    page: int | Unset = 1,
    limit: int | Unset = 10,
    cursor: str | Unset = UNSET,
    count: bool | Unset = True,
) -> Error | LeadNoteItemListResponse | ValidationError | None:
    """List notes of a lead

     Return one page of the lead's notes, newest first.

    Args:
        id (UUID):
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | LeadNoteItemListResponse | ValidationError
    """

    return sync_detailed(
        id=id,
        client=client,
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
    ).parsed


async def asyncio_detailed(
    id: UUID,
    *,
    client: AuthenticatedClient,
    page: int | Unset = 1,
    limit: int | Unset = 10,
    cursor: str | Unset = UNSET,
    count: bool | Unset = True,
) -> Response[Error | LeadNoteItemListResponse | ValidationError]:
    """List notes of a lead

     Return one page of the lead's notes, newest first.

    Args:
        id (UUID):
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | LeadNoteItemListResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        id=id,
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
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
) -> Error | LeadNoteItemListResponse | ValidationError | None:
    """List notes of a lead

     Return one page of the lead's notes, newest first.

    Args:
        id (UUID):
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | LeadNoteItemListResponse | ValidationError
    """

    return (
        await asyncio_detailed(
            id=id,
            client=client,
            page=page,
            limit=limit,
            cursor=cursor,
            count=count,
        )
    ).parsed
