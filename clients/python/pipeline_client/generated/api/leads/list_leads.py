from http import HTTPStatus
from typing import Any
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error import Error
from ...models.lead_item_list_response import LeadItemListResponse
from ...models.list_leads_ordering import ListLeadsOrdering
from ...models.list_leads_status_role_item import (
    ListLeadsStatusRoleItem,
)
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
    email: str | Unset = UNSET,
    phone: str | Unset = UNSET,
    status_id: UUID | Unset = UNSET,
    status_role: list[ListLeadsStatusRoleItem] | Unset = UNSET,
    setter: str | Unset = UNSET,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    updated_from: str | Unset = UNSET,
    updated_to: str | Unset = UNSET,
    ordering: ListLeadsOrdering | Unset = UNSET,
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

    params["email"] = email

    params["phone"] = phone

    json_status_id: str | Unset = UNSET
    if not isinstance(status_id, Unset):
        json_status_id = str(status_id)
    params["status_id"] = json_status_id

    json_status_role: list[str] | Unset = UNSET
    if not isinstance(status_role, Unset):
        json_status_role = []
        for status_role_item_data in status_role:
            status_role_item: str = status_role_item_data
            json_status_role.append(status_role_item)

    params["status_role"] = json_status_role

    params["setter"] = setter

    params["created_from"] = created_from

    params["created_to"] = created_to

    params["updated_from"] = updated_from

    params["updated_to"] = updated_to

    json_ordering: str | Unset = UNSET
    if not isinstance(ordering, Unset):
        json_ordering = ordering

    params["ordering"] = json_ordering

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/external/leads",
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Error | LeadItemListResponse | ValidationError | None:
    if response.status_code == 200:
        response_200 = LeadItemListResponse.from_dict(response.json())

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
) -> Response[Error | LeadItemListResponse | ValidationError]:
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
    email: str | Unset = UNSET,
    phone: str | Unset = UNSET,
    status_id: UUID | Unset = UNSET,
    status_role: list[ListLeadsStatusRoleItem] | Unset = UNSET,
    setter: str | Unset = UNSET,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    updated_from: str | Unset = UNSET,
    updated_to: str | Unset = UNSET,
    ordering: ListLeadsOrdering | Unset = UNSET,
) -> Response[Error | LeadItemListResponse | ValidationError]:
    """List leads

     Return one page of the organization's leads, newest first.

    Args:
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.
        id (list[UUID] | Unset):
        external_reference (str | Unset):
        email (str | Unset):
        phone (str | Unset):
        status_id (UUID | Unset):
        status_role (list[ListLeadsStatusRoleItem] | Unset):
        setter (str | Unset):
        created_from (str | Unset):
        created_to (str | Unset):
        updated_from (str | Unset):
        updated_to (str | Unset):
        ordering (ListLeadsOrdering | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | LeadItemListResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
        id=id,
        external_reference=external_reference,
        email=email,
        phone=phone,
        status_id=status_id,
        status_role=status_role,
        setter=setter,
        created_from=created_from,
        created_to=created_to,
        updated_from=updated_from,
        updated_to=updated_to,
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
    email: str | Unset = UNSET,
    phone: str | Unset = UNSET,
    status_id: UUID | Unset = UNSET,
    status_role: list[ListLeadsStatusRoleItem] | Unset = UNSET,
    setter: str | Unset = UNSET,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    updated_from: str | Unset = UNSET,
    updated_to: str | Unset = UNSET,
    ordering: ListLeadsOrdering | Unset = UNSET,
) -> Error | LeadItemListResponse | ValidationError | None:
    """List leads

     Return one page of the organization's leads, newest first.

    Args:
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.
        id (list[UUID] | Unset):
        external_reference (str | Unset):
        email (str | Unset):
        phone (str | Unset):
        status_id (UUID | Unset):
        status_role (list[ListLeadsStatusRoleItem] | Unset):
        setter (str | Unset):
        created_from (str | Unset):
        created_to (str | Unset):
        updated_from (str | Unset):
        updated_to (str | Unset):
        ordering (ListLeadsOrdering | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | LeadItemListResponse | ValidationError
    """

    return sync_detailed(
        client=client,
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
        id=id,
        external_reference=external_reference,
        email=email,
        phone=phone,
        status_id=status_id,
        status_role=status_role,
        setter=setter,
        created_from=created_from,
        created_to=created_to,
        updated_from=updated_from,
        updated_to=updated_to,
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
    email: str | Unset = UNSET,
    phone: str | Unset = UNSET,
    status_id: UUID | Unset = UNSET,
    status_role: list[ListLeadsStatusRoleItem] | Unset = UNSET,
    setter: str | Unset = UNSET,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    updated_from: str | Unset = UNSET,
    updated_to: str | Unset = UNSET,
    ordering: ListLeadsOrdering | Unset = UNSET,
) -> Response[Error | LeadItemListResponse | ValidationError]:
    """List leads

     Return one page of the organization's leads, newest first.

    Args:
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.
        id (list[UUID] | Unset):
        external_reference (str | Unset):
        email (str | Unset):
        phone (str | Unset):
        status_id (UUID | Unset):
        status_role (list[ListLeadsStatusRoleItem] | Unset):
        setter (str | Unset):
        created_from (str | Unset):
        created_to (str | Unset):
        updated_from (str | Unset):
        updated_to (str | Unset):
        ordering (ListLeadsOrdering | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Error | LeadItemListResponse | ValidationError]
    """

    kwargs = _get_kwargs(
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
        id=id,
        external_reference=external_reference,
        email=email,
        phone=phone,
        status_id=status_id,
        status_role=status_role,
        setter=setter,
        created_from=created_from,
        created_to=created_to,
        updated_from=updated_from,
        updated_to=updated_to,
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
    email: str | Unset = UNSET,
    phone: str | Unset = UNSET,
    status_id: UUID | Unset = UNSET,
    status_role: list[ListLeadsStatusRoleItem] | Unset = UNSET,
    setter: str | Unset = UNSET,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    updated_from: str | Unset = UNSET,
    updated_to: str | Unset = UNSET,
    ordering: ListLeadsOrdering | Unset = UNSET,
) -> Error | LeadItemListResponse | ValidationError | None:
    """List leads

     Return one page of the organization's leads, newest first.

    Args:
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.
        id (list[UUID] | Unset):
        external_reference (str | Unset):
        email (str | Unset):
        phone (str | Unset):
        status_id (UUID | Unset):
        status_role (list[ListLeadsStatusRoleItem] | Unset):
        setter (str | Unset):
        created_from (str | Unset):
        created_to (str | Unset):
        updated_from (str | Unset):
        updated_to (str | Unset):
        ordering (ListLeadsOrdering | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Error | LeadItemListResponse | ValidationError
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
            email=email,
            phone=phone,
            status_id=status_id,
            status_role=status_role,
            setter=setter,
            created_from=created_from,
            created_to=created_to,
            updated_from=updated_from,
            updated_to=updated_to,
            ordering=ordering,
        )
    ).parsed
