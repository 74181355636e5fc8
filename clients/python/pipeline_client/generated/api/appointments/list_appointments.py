from http import HTTPStatus
from typing import Any
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.appointment_item_list_response import AppointmentItemListResponse
from ...models.error import Error
from ...models.list_appointments_call_category_item import (
    ListAppointmentsCallCategoryItem,
)
from ...models.list_appointments_ordering import (
    ListAppointmentsOrdering,
)
from ...models.list_appointments_outcome_role_item import (
    ListAppointmentsOutcomeRoleItem,
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
    lead_id: UUID | Unset = UNSET,
    event_type_id: UUID | Unset = UNSET,
    call_category: list[ListAppointmentsCallCategoryItem] | Unset = UNSET,
    outcome_role: list[ListAppointmentsOutcomeRoleItem] | Unset = UNSET,
    has_outcome: bool | Unset = UNSET,
    setter: str | Unset = UNSET,
    triager: str | Unset = UNSET,
    closer: str | Unset = UNSET,
    scheduled_from: str | Unset = UNSET,
    scheduled_to: str | Unset = UNSET,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    updated_from: str | Unset = UNSET,
    updated_to: str | Unset = UNSET,
    ordering: ListAppointmentsOrdering | Unset = UNSET,
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

    json_lead_id: str | Unset = UNSET
    if not isinstance(lead_id, Unset):
        json_lead_id = str(lead_id)
    params["lead_id"] = json_lead_id

    json_event_type_id: str | Unset = UNSET
    if not isinstance(event_type_id, Unset):
        json_event_type_id = str(event_type_id)
    params["event_type_id"] = json_event_type_id

    json_call_category: list[str] | Unset = UNSET
    if not isinstance(call_category, Unset):
        json_call_category = []
        for call_category_item_data in call_category:
            call_category_item: str = call_category_item_data
            json_call_category.append(call_category_item)

    params["call_category"] = json_call_category

    json_outcome_role: list[str] | Unset = UNSET
    if not isinstance(outcome_role, Unset):
        json_outcome_role = []
        for outcome_role_item_data in outcome_role:
            outcome_role_item: str = outcome_role_item_data
            json_outcome_role.append(outcome_role_item)

    params["outcome_role"] = json_outcome_role

    params["has_outcome"] = has_outcome

    params["setter"] = setter

    params["triager"] = triager

    params["closer"] = closer

    params["scheduled_from"] = scheduled_from

    params["scheduled_to"] = scheduled_to

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
        "url": "/api/external/appointments",
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> AppointmentItemListResponse | Error | ValidationError | None:
    if response.status_code == 200:
        response_200 = AppointmentItemListResponse.from_dict(response.json())

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
) -> Response[AppointmentItemListResponse | Error | ValidationError]:
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
    lead_id: UUID | Unset = UNSET,
    event_type_id: UUID | Unset = UNSET,
    call_category: list[ListAppointmentsCallCategoryItem] | Unset = UNSET,
    outcome_role: list[ListAppointmentsOutcomeRoleItem] | Unset = UNSET,
    has_outcome: bool | Unset = UNSET,
    setter: str | Unset = UNSET,
    triager: str | Unset = UNSET,
    closer: str | Unset = UNSET,
    scheduled_from: str | Unset = UNSET,
    scheduled_to: str | Unset = UNSET,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    updated_from: str | Unset = UNSET,
    updated_to: str | Unset = UNSET,
    ordering: ListAppointmentsOrdering | Unset = UNSET,
) -> Response[AppointmentItemListResponse | Error | ValidationError]:
    """List appointments

     Return one page of the organization's appointments, newest first.

    Args:
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.
        id (list[UUID] | Unset):
        external_reference (str | Unset):
        lead_id (UUID | Unset):
        event_type_id (UUID | Unset):
        call_category (list[ListAppointmentsCallCategoryItem] | Unset):
        outcome_role (list[ListAppointmentsOutcomeRoleItem] | Unset):
        has_outcome (bool | Unset):
        setter (str | Unset):
        triager (str | Unset):
        closer (str | Unset):
        scheduled_from (str | Unset):
        scheduled_to (str | Unset):
        created_from (str | Unset):
        created_to (str | Unset):
        updated_from (str | Unset):
        updated_to (str | Unset):
        ordering (ListAppointmentsOrdering | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[AppointmentItemListResponse | Error | ValidationError]
    """

    kwargs = _get_kwargs(
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
        id=id,
        external_reference=external_reference,
        lead_id=lead_id,
        event_type_id=event_type_id,
        call_category=call_category,
        outcome_role=outcome_role,
        has_outcome=has_outcome,
        setter=setter,
        triager=triager,
        closer=closer,
        scheduled_from=scheduled_from,
        scheduled_to=scheduled_to,
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
    lead_id: UUID | Unset = UNSET,
    event_type_id: UUID | Unset = UNSET,
    call_category: list[ListAppointmentsCallCategoryItem] | Unset = UNSET,
    outcome_role: list[ListAppointmentsOutcomeRoleItem] | Unset = UNSET,
    has_outcome: bool | Unset = UNSET,
    setter: str | Unset = UNSET,
    triager: str | Unset = UNSET,
    closer: str | Unset = UNSET,
    scheduled_from: str | Unset = UNSET,
    scheduled_to: str | Unset = UNSET,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    updated_from: str | Unset = UNSET,
    updated_to: str | Unset = UNSET,
    ordering: ListAppointmentsOrdering | Unset = UNSET,
) -> AppointmentItemListResponse | Error | ValidationError | None:
    """List appointments

     Return one page of the organization's appointments, newest first.

    Args:
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.
        id (list[UUID] | Unset):
        external_reference (str | Unset):
        lead_id (UUID | Unset):
        event_type_id (UUID | Unset):
        call_category (list[ListAppointmentsCallCategoryItem] | Unset):
        outcome_role (list[ListAppointmentsOutcomeRoleItem] | Unset):
        has_outcome (bool | Unset):
        setter (str | Unset):
        triager (str | Unset):
        closer (str | Unset):
        scheduled_from (str | Unset):
        scheduled_to (str | Unset):
        created_from (str | Unset):
        created_to (str | Unset):
        updated_from (str | Unset):
        updated_to (str | Unset):
        ordering (ListAppointmentsOrdering | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        AppointmentItemListResponse | Error | ValidationError
    """

    return sync_detailed(
        client=client,
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
        id=id,
        external_reference=external_reference,
        lead_id=lead_id,
        event_type_id=event_type_id,
        call_category=call_category,
        outcome_role=outcome_role,
        has_outcome=has_outcome,
        setter=setter,
        triager=triager,
        closer=closer,
        scheduled_from=scheduled_from,
        scheduled_to=scheduled_to,
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
    lead_id: UUID | Unset = UNSET,
    event_type_id: UUID | Unset = UNSET,
    call_category: list[ListAppointmentsCallCategoryItem] | Unset = UNSET,
    outcome_role: list[ListAppointmentsOutcomeRoleItem] | Unset = UNSET,
    has_outcome: bool | Unset = UNSET,
    setter: str | Unset = UNSET,
    triager: str | Unset = UNSET,
    closer: str | Unset = UNSET,
    scheduled_from: str | Unset = UNSET,
    scheduled_to: str | Unset = UNSET,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    updated_from: str | Unset = UNSET,
    updated_to: str | Unset = UNSET,
    ordering: ListAppointmentsOrdering | Unset = UNSET,
) -> Response[AppointmentItemListResponse | Error | ValidationError]:
    """List appointments

     Return one page of the organization's appointments, newest first.

    Args:
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.
        id (list[UUID] | Unset):
        external_reference (str | Unset):
        lead_id (UUID | Unset):
        event_type_id (UUID | Unset):
        call_category (list[ListAppointmentsCallCategoryItem] | Unset):
        outcome_role (list[ListAppointmentsOutcomeRoleItem] | Unset):
        has_outcome (bool | Unset):
        setter (str | Unset):
        triager (str | Unset):
        closer (str | Unset):
        scheduled_from (str | Unset):
        scheduled_to (str | Unset):
        created_from (str | Unset):
        created_to (str | Unset):
        updated_from (str | Unset):
        updated_to (str | Unset):
        ordering (ListAppointmentsOrdering | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[AppointmentItemListResponse | Error | ValidationError]
    """

    kwargs = _get_kwargs(
        page=page,
        limit=limit,
        cursor=cursor,
        count=count,
        id=id,
        external_reference=external_reference,
        lead_id=lead_id,
        event_type_id=event_type_id,
        call_category=call_category,
        outcome_role=outcome_role,
        has_outcome=has_outcome,
        setter=setter,
        triager=triager,
        closer=closer,
        scheduled_from=scheduled_from,
        scheduled_to=scheduled_to,
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
    lead_id: UUID | Unset = UNSET,
    event_type_id: UUID | Unset = UNSET,
    call_category: list[ListAppointmentsCallCategoryItem] | Unset = UNSET,
    outcome_role: list[ListAppointmentsOutcomeRoleItem] | Unset = UNSET,
    has_outcome: bool | Unset = UNSET,
    setter: str | Unset = UNSET,
    triager: str | Unset = UNSET,
    closer: str | Unset = UNSET,
    scheduled_from: str | Unset = UNSET,
    scheduled_to: str | Unset = UNSET,
    created_from: str | Unset = UNSET,
    created_to: str | Unset = UNSET,
    updated_from: str | Unset = UNSET,
    updated_to: str | Unset = UNSET,
    ordering: ListAppointmentsOrdering | Unset = UNSET,
) -> AppointmentItemListResponse | Error | ValidationError | None:
    """List appointments

     Return one page of the organization's appointments, newest first.

    Args:
        page (int | Unset):  Default: 1.
        limit (int | Unset):  Default: 10.
        cursor (str | Unset):
        count (bool | Unset):  Default: True.
        id (list[UUID] | Unset):
        external_reference (str | Unset):
        lead_id (UUID | Unset):
        event_type_id (UUID | Unset):
        call_category (list[ListAppointmentsCallCategoryItem] | Unset):
        outcome_role (list[ListAppointmentsOutcomeRoleItem] | Unset):
        has_outcome (bool | Unset):
        setter (str | Unset):
        triager (str | Unset):
        closer (str | Unset):
        scheduled_from (str | Unset):
        scheduled_to (str | Unset):
        created_from (str | Unset):
        created_to (str | Unset):
        updated_from (str | Unset):
        updated_to (str | Unset):
        ordering (ListAppointmentsOrdering | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        AppointmentItemListResponse | Error | ValidationError
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
            lead_id=lead_id,
            event_type_id=event_type_id,
            call_category=call_category,
            outcome_role=outcome_role,
            has_outcome=has_outcome,
            setter=setter,
            triager=triager,
            closer=closer,
            scheduled_from=scheduled_from,
            scheduled_to=scheduled_to,
            created_from=created_from,
            created_to=created_to,
            updated_from=updated_from,
            updated_to=updated_to,
            ordering=ordering,
        )
    ).parsed
