from http import HTTPStatus
from typing import Any
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.list_opt_ins_ordering import (
    ListOptInsOrdering,
)
from ...models.list_opt_ins_source import ListOptInsSource
from ...models.opt_in_item_list_response import OptInItemListResponse
from ...models.validation_error import ValidationError
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    page: int | Unset = 1,
    limit: int | Unset = 10,
    cursor: str | Unset = UNSET,
    count: bool | Unset = True,
    id: list[UUID] | Unset = UNSET,
    external_reference: str | Unset = UNSET,
    source: ListOptInsSource | Unset = UNSET,
    lead_id: UUID | Unset = UNSET,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    ordering: ListOptInsOrdering | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["page"] = page

    params["limit"] = limit

    params["cursor"] = cursor

    params["count"] = count

    json_id: list[str] | Unset = UNSET
    if not isinstance(id, Unset):
        json_id = []
        for id_item_data in id:
            id_item = str(id_item_data)
            json_id.append(id_item)

    params["id"] = json_id

    params["external_reference"] = external_reference

    json_source: str | Unset = UNSET
    if not isinstance(source, Unset):
        json_source = source

    params["source"] = json_source

    json_lead_id: str | Unset = UNSET
    if not isinstance(lead_id, Unset):
        json_lead_id = str(lead_id)
    params["lead_id"] = json_lead_id

    params["created_from"] = created_from

    params["created_to"] = created_to

    json_ordering: str | Unset = UNSET
    if not isinstance(ordering, Unset):
        json_ordering = ordering

    params["ordering"] = json_ordering

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/external/opt-ins",
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Error | OptInItemListResponse | ValidationError | None:
    if response.status_code == 200:
        response_200 = OptInItemListResponse.from_dict(response.json())

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
) -> Response[Error | OptInItemListResponse | ValidationError]:
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
    id: list[UUID] | Unset = UNSET,
    external_reference: str | Unset = UNSET,
    source: ListOptInsSource | Unset = UNSET,
    lead_id: UUID | Unset = UNSET,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    ordering: ListOptInsOrdering | Unset = UNSET,
) -> Response[Error | OptInItemListResponse | ValidationError]:
    """List opt-ins

     Return one page of the organization's opt-ins, newest first.

    Args:
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.
        id (list[UUID] | Unset):
        external_reference (str | Unset):
        source (ListOptInsSource | Unset):
        lead_id (UUID | Unset):
        created_from (str | Unset):
        created_to (str | Unset):
        ordering (ListOptInsOrdering | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | OptInItemListResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
        id=id,
        external_reference=external_reference,
        source=source,
        lead_id=lead_id,
        created_from=created_from,
        created_to=created_to,
        ordering=ordering,
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
    id: list[UUID] | Unset = UNSET,
    external_reference: str | Unset = UNSET,
    source: ListOptInsSource | Unset = UNSET,
    lead_id: UUID | Unset = UNSET,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    ordering: ListOptInsOrdering | Unset = UNSET,
) -> Error | OptInItemListResponse | ValidationError | None:
    """List opt-ins

     Return one page of the organization's opt-ins, newest first.

    Args:
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.
        id (list[UUID] | Unset):
        external_reference (str | Unset):
        source (ListOptInsSource | Unset):
        lead_id (UUID | Unset):
        created_from (str | Unset):
        created_to (str | Unset):
        ordering (ListOptInsOrdering | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | OptInItemListResponse | ValidationError
    """

    return sync_detailed(
        client=client,
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
        id=id,
        external_reference=external_reference,
        source=source,
        lead_id=lead_id,
        created_from=created_from,
        created_to=created_to,
        ordering=ordering,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    page: int | Unset = 1,
    limit: int | Unset = 10,
    cursor: str | Unset = UNSET,
    count: bool | Unset = True,
    id: list[UUID] | Unset = UNSET,
    external_reference: str | Unset = UNSET,
    source: ListOptInsSource | Unset = UNSET,
    lead_id: UUID | Unset = UNSET,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    ordering: ListOptInsOrdering | Unset = UNSET,
) -> Response[Error | OptInItemListResponse | ValidationError]:
    """List opt-ins

     Return one page of the organization's opt-ins, newest first.

    Args:
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.
        id (list[UUID] | Unset):
        external_reference (str | Unset):
        source (ListOptInsSource | Unset):
        lead_id (UUID | Unset):
        created_from (str | Unset):
        created_to (str | Unset):
        ordering (ListOptInsOrdering | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | OptInItemListResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
        id=id,
        external_reference=external_reference,
        source=source,
        lead_id=lead_id,
        created_from=created_from,
        created_to=created_to,
        ordering=ordering,
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
    id: list[UUID] | Unset = UNSET,
    external_reference: str | Unset = UNSET,
    source: ListOptInsSource | Unset = UNSET,
    lead_id: UUID | Unset = UNSET,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    ordering: ListOptInsOrdering | Unset = UNSET,
) -> Error | OptInItemListResponse | ValidationError | None:
    """List opt-ins

     Return one page of the organization's opt-ins, newest first.

    Args:
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.
        id (list[UUID] | Unset):
        external_reference (str | Unset):
        source (ListOptInsSource | Unset):
        lead_id (UUID | Unset):
        created_from (str | Unset):
        created_to (str | Unset):
        ordering (ListOptInsOrdering | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | OptInItemListResponse | ValidationError
    """

    return (
        await asyncio_detailed(
            client=client,
            page=page,
            limit=limit,
            cursor=cursor,
            count=count,
            id=id,
            external_reference=external_reference,
            source=source,
            lead_id=lead_id,
            created_from=created_from,
            created_to=created_to,
            ordering=ordering,
        )
    ).parsed
