"""Contains all the data models used in inputs/outputs"""

from .actor import Actor
from .appointment_canceled_event import AppointmentCanceledEvent
from .appointment_canceled_event_type import AppointmentCanceledEventType
from .appointment_canceled_previous import AppointmentCanceledPrevious
from .appointment_canceled_previous_call_category import (
    AppointmentCanceledPreviousCallCategory,
)
from .appointment_created_event import AppointmentCreatedEvent
from .appointment_created_event_type import AppointmentCreatedEventType
from .appointment_detail import AppointmentDetail
from .appointment_detail_call_category import AppointmentDetailCallCategory
from .appointment_detail_changed_response import AppointmentDetailChangedResponse
from .appointment_detail_changed_response_status import (
    AppointmentDetailChangedResponseStatus,
)
from .appointment_detail_response import AppointmentDetailResponse
from .appointment_detail_source import AppointmentDetailSource
from .appointment_detail_update_response import AppointmentDetailUpdateResponse
from .appointment_detail_update_response_status import (
    AppointmentDetailUpdateResponseStatus,
)
from .appointment_import import AppointmentImport
from .appointment_import_input_request import AppointmentImportInputRequest
from .appointment_import_response import AppointmentImportResponse
from .appointment_import_response_status import AppointmentImportResponseStatus
from .appointment_item import AppointmentItem
from .appointment_item_call_category import AppointmentItemCallCategory
from .appointment_item_list_response import AppointmentItemListResponse
from .appointment_item_source import AppointmentItemSource
from .appointment_outcome_changed_event import AppointmentOutcomeChangedEvent
from .appointment_outcome_changed_event_type import AppointmentOutcomeChangedEventType
from .appointment_outcome_changed_previous import AppointmentOutcomeChangedPrevious
from .appointment_outcome_changed_previous_call_category import (
    AppointmentOutcomeChangedPreviousCallCategory,
)
from .appointment_rescheduled_event import AppointmentRescheduledEvent
from .appointment_rescheduled_event_type import AppointmentRescheduledEventType
from .appointment_rescheduled_previous import AppointmentRescheduledPrevious
from .appointment_rescheduled_previous_call_category import (
    AppointmentRescheduledPreviousCallCategory,
)
from .appointment_update_input_request import AppointmentUpdateInputRequest
from .appointment_update_input_request_call_category import (
    AppointmentUpdateInputRequestCallCategory,
)
from .appointment_update_input_request_custom_fields import (
    AppointmentUpdateInputRequestCustomFields,
)
from .appointment_update_input_request_outcome_role import (
    AppointmentUpdateInputRequestOutcomeRole,
)
from .appointment_updated_event import AppointmentUpdatedEvent
from .appointment_updated_event_type import AppointmentUpdatedEventType
from .appointment_updated_previous import AppointmentUpdatedPrevious
from .appointment_updated_previous_call_category import (
    AppointmentUpdatedPreviousCallCategory,
)
from .attribution import Attribution
from .booked import Booked
from .booked_response import BookedResponse
from .booked_response_status import BookedResponseStatus
from .booking_input_request import BookingInputRequest
from .booking_input_request_custom_fields_type_0 import (
    BookingInputRequestCustomFieldsType0,
)
from .call_analysis import CallAnalysis
from .call_analysis_input_request import CallAnalysisInputRequest
from .call_analysis_response import CallAnalysisResponse
from .call_analysis_response_status import CallAnalysisResponseStatus
from .call_match_input_request import CallMatchInputRequest
from .canceled import Canceled
from .canceled_response import CanceledResponse
from .canceled_response_status import CanceledResponseStatus
from .cancellation_details import CancellationDetails
from .cancellation_input_request import CancellationInputRequest
from .cancellation_input_request_canceled_by import CancellationInputRequestCanceledBy
from .cancellation_input_request_if_unknown import CancellationInputRequestIfUnknown
from .created_webhook_endpoint import CreatedWebhookEndpoint
from .created_webhook_endpoint_metadata import CreatedWebhookEndpointMetadata
from .created_webhook_endpoint_response import CreatedWebhookEndpointResponse
from .created_webhook_endpoint_response_status import (
    CreatedWebhookEndpointResponseStatus,
)
from .custom_field_created_event import CustomFieldCreatedEvent
from .custom_field_created_event_type import CustomFieldCreatedEventType
from .custom_field_deleted_event import CustomFieldDeletedEvent
from .custom_field_deleted_event_type import CustomFieldDeletedEventType
from .custom_field_detail import CustomFieldDetail
from .custom_field_item import CustomFieldItem
from .custom_field_item_list_response import CustomFieldItemListResponse
from .custom_field_updated_event import CustomFieldUpdatedEvent
from .custom_field_updated_event_type import CustomFieldUpdatedEventType
from .custom_field_updated_previous import CustomFieldUpdatedPrevious
from .custom_field_value import CustomFieldValue
from .deleted_note import DeletedNote
from .deleted_note_response import DeletedNoteResponse
from .deleted_note_response_status import DeletedNoteResponseStatus
from .deleted_rows import DeletedRows
from .endpoint_input_request import EndpointInputRequest
from .endpoint_input_request_metadata_type_0 import EndpointInputRequestMetadataType0
from .endpoint_update_input_request import EndpointUpdateInputRequest
from .endpoint_update_input_request_metadata_type_0 import (
    EndpointUpdateInputRequestMetadataType0,
)
from .erased_lead import ErasedLead
from .error import Error
from .error_status import ErrorStatus
from .event import Event
from .event_data import EventData
from .event_details import EventDetails
from .event_list_response import EventListResponse
from .event_previous import EventPrevious
from .event_samples_response import EventSamplesResponse
from .event_type import EventType
from .event_type_detail import EventTypeDetail
from .event_type_detail_call_category import EventTypeDetailCallCategory
from .event_type_item import EventTypeItem
from .event_type_item_call_category import EventTypeItemCallCategory
from .event_type_item_list_response import EventTypeItemListResponse
from .event_type_updated_event import EventTypeUpdatedEvent
from .event_type_updated_event_type import EventTypeUpdatedEventType
from .event_type_updated_previous import EventTypeUpdatedPrevious
from .event_type_updated_previous_call_category import (
    EventTypeUpdatedPreviousCallCategory,
)
from .imported_appointment import ImportedAppointment
from .imported_appointment_errors import ImportedAppointmentErrors
from .imported_lead import ImportedLead
from .imported_lead_errors import ImportedLeadErrors
from .key import Key
from .lead_created_event import LeadCreatedEvent
from .lead_created_event_type import LeadCreatedEventType
from .lead_detail import LeadDetail
from .lead_detail_changed_response import LeadDetailChangedResponse
from .lead_detail_changed_response_status import LeadDetailChangedResponseStatus
from .lead_detail_response import LeadDetailResponse
from .lead_detail_update_response import LeadDetailUpdateResponse
from .lead_detail_update_response_status import LeadDetailUpdateResponseStatus
from .lead_erased_event import LeadErasedEvent
from .lead_erased_event_type import LeadErasedEventType
from .lead_erasure import LeadErasure
from .lead_erasure_response import LeadErasureResponse
from .lead_erasure_response_status import LeadErasureResponseStatus
from .lead_import import LeadImport
from .lead_import_input_request import LeadImportInputRequest
from .lead_import_response import LeadImportResponse
from .lead_import_response_status import LeadImportResponseStatus
from .lead_item import LeadItem
from .lead_item_list_response import LeadItemListResponse
from .lead_merged_event import LeadMergedEvent
from .lead_merged_event_type import LeadMergedEventType
from .lead_merged_previous import LeadMergedPrevious
from .lead_note_created_event import LeadNoteCreatedEvent
from .lead_note_created_event_type import LeadNoteCreatedEventType
from .lead_note_deleted_event import LeadNoteDeletedEvent
from .lead_note_deleted_event_type import LeadNoteDeletedEventType
from .lead_note_detail import LeadNoteDetail
from .lead_note_input_request import LeadNoteInputRequest
from .lead_note_item import LeadNoteItem
from .lead_note_item_list_response import LeadNoteItemListResponse
from .lead_note_item_response import LeadNoteItemResponse
from .lead_note_item_response_status import LeadNoteItemResponseStatus
from .lead_note_item_update_response import LeadNoteItemUpdateResponse
from .lead_note_item_update_response_status import LeadNoteItemUpdateResponseStatus
from .lead_note_update_input_request import LeadNoteUpdateInputRequest
from .lead_note_updated_event import LeadNoteUpdatedEvent
from .lead_note_updated_event_type import LeadNoteUpdatedEventType
from .lead_note_updated_previous import LeadNoteUpdatedPrevious
from .lead_status_change import LeadStatusChange
from .lead_status_change_list_response import LeadStatusChangeListResponse
from .lead_status_changed_event import LeadStatusChangedEvent
from .lead_status_changed_event_type import LeadStatusChangedEventType
from .lead_status_changed_previous import LeadStatusChangedPrevious
from .lead_summary import LeadSummary
from .lead_update_input_request import LeadUpdateInputRequest
from .lead_update_input_request_custom_fields import LeadUpdateInputRequestCustomFields
from .lead_updated_event import LeadUpdatedEvent
from .lead_updated_event_type import LeadUpdatedEventType
from .lead_updated_previous import LeadUpdatedPrevious
from .lead_upsert_input_request import LeadUpsertInputRequest
from .lead_upsert_input_request_custom_fields import LeadUpsertInputRequestCustomFields
from .lead_upsert_input_request_overwrite_item import (
    LeadUpsertInputRequestOverwriteItem,
)
from .limits import Limits
from .list_appointments_call_category_item import ListAppointmentsCallCategoryItem
from .list_appointments_ordering import ListAppointmentsOrdering
from .list_appointments_outcome_role_item import ListAppointmentsOutcomeRoleItem
from .list_deliveries_of_webhook_endpoint_state_item import (
    ListDeliveriesOfWebhookEndpointStateItem,
)
from .list_leads_ordering import ListLeadsOrdering
from .list_leads_status_role_item import ListLeadsStatusRoleItem
from .list_opt_ins_ordering import ListOptInsOrdering
from .list_opt_ins_source import ListOptInsSource
from .me import Me
from .me_response import MeResponse
from .member import Member
from .member_list_response import MemberListResponse
from .member_updated_event import MemberUpdatedEvent
from .member_updated_event_type import MemberUpdatedEventType
from .member_updated_previous import MemberUpdatedPrevious
from .note import Note
from .note_created_event import NoteCreatedEvent
from .note_created_event_type import NoteCreatedEventType
from .note_deleted_event import NoteDeletedEvent
from .note_deleted_event_type import NoteDeletedEventType
from .note_detail import NoteDetail
from .note_input_request import NoteInputRequest
from .note_item import NoteItem
from .note_item_list_response import NoteItemListResponse
from .note_item_response import NoteItemResponse
from .note_item_response_status import NoteItemResponseStatus
from .note_item_update_response import NoteItemUpdateResponse
from .note_item_update_response_status import NoteItemUpdateResponseStatus
from .note_update_input_request import NoteUpdateInputRequest
from .note_updated_event import NoteUpdatedEvent
from .note_updated_event_type import NoteUpdatedEventType
from .note_updated_previous import NoteUpdatedPrevious
from .opt_in_created_event import OptInCreatedEvent
from .opt_in_created_event_type import OptInCreatedEventType
from .opt_in_detail import OptInDetail
from .opt_in_detail_response import OptInDetailResponse
from .opt_in_detail_source import OptInDetailSource
from .opt_in_input_request import OptInInputRequest
from .opt_in_input_request_source import OptInInputRequestSource
from .opt_in_item import OptInItem
from .opt_in_item_list_response import OptInItemListResponse
from .opt_in_item_source import OptInItemSource
from .opt_in_updated_event import OptInUpdatedEvent
from .opt_in_updated_event_type import OptInUpdatedEventType
from .opt_in_updated_previous import OptInUpdatedPrevious
from .opt_in_updated_previous_source import OptInUpdatedPreviousSource
from .organization import Organization
from .outcome import Outcome
from .outcome_change import OutcomeChange
from .outcome_change_list_response import OutcomeChangeListResponse
from .outcome_role import OutcomeRole
from .pagination import Pagination
from .question_answer import QuestionAnswer
from .question_answer_input_request import QuestionAnswerInputRequest
from .remembered_cancellation import RememberedCancellation
from .remembered_cancellation_response import RememberedCancellationResponse
from .remembered_cancellation_response_status import (
    RememberedCancellationResponseStatus,
)
from .replay_input_request import ReplayInputRequest
from .replayed import Replayed
from .replayed_response import ReplayedResponse
from .replayed_response_status import ReplayedResponseStatus
from .rescheduled import Rescheduled
from .rescheduled_response import RescheduledResponse
from .rescheduled_response_status import RescheduledResponseStatus
from .rescheduling_details import ReschedulingDetails
from .rescheduling_input_request import ReschedulingInputRequest
from .rescheduling_input_request_rescheduled_by import (
    ReschedulingInputRequestRescheduledBy,
)
from .reset import Reset
from .reset_response import ResetResponse
from .reset_response_status import ResetResponseStatus
from .rotated_secret import RotatedSecret
from .rotated_secret_response import RotatedSecretResponse
from .rotated_secret_response_status import RotatedSecretResponseStatus
from .sent_test import SentTest
from .sent_test_response import SentTestResponse
from .sent_test_response_status import SentTestResponseStatus
from .source import Source
from .source_item import SourceItem
from .source_item_list_response import SourceItemListResponse
from .status import Status
from .status_created_event import StatusCreatedEvent
from .status_created_event_type import StatusCreatedEventType
from .status_deleted_event import StatusDeletedEvent
from .status_deleted_event_type import StatusDeletedEventType
from .status_detail import StatusDetail
from .status_detail_role import StatusDetailRole
from .status_detail_type import StatusDetailType
from .status_list_response import StatusListResponse
from .status_role import StatusRole
from .status_type import StatusType
from .status_update import StatusUpdate
from .status_update_input_request import StatusUpdateInputRequest
from .status_update_response import StatusUpdateResponse
from .status_update_response_status import StatusUpdateResponseStatus
from .status_updated_event import StatusUpdatedEvent
from .status_updated_event_type import StatusUpdatedEventType
from .status_updated_previous import StatusUpdatedPrevious
from .status_updated_previous_role import StatusUpdatedPreviousRole
from .status_updated_previous_type import StatusUpdatedPreviousType
from .submitted import Submitted
from .submitted_response import SubmittedResponse
from .submitted_response_status import SubmittedResponseStatus
from .sync_input_request import SyncInputRequest
from .sync_input_request_canceled_by import SyncInputRequestCanceledBy
from .sync_input_request_state import SyncInputRequestState
from .synced_appointment import SyncedAppointment
from .synced_appointment_response import SyncedAppointmentResponse
from .synced_appointment_response_status import SyncedAppointmentResponseStatus
from .synced_lead_input_request import SyncedLeadInputRequest
from .synced_opt_in import SyncedOptIn
from .synced_opt_in_input_request import SyncedOptInInputRequest
from .synced_opt_in_response import SyncedOptInResponse
from .synced_opt_in_response_status import SyncedOptInResponseStatus
from .test_data import TestData
from .traffic_attribution import TrafficAttribution
from .traffic_input_request import TrafficInputRequest
from .upserted_lead import UpsertedLead
from .upserted_lead_response import UpsertedLeadResponse
from .upserted_lead_response_status import UpsertedLeadResponseStatus
from .user import User
from .utm_input_request import UTMInputRequest
from .validation_error import ValidationError
from .validation_error_errors import ValidationErrorErrors
from .validation_error_status import ValidationErrorStatus
from .webhook_delivery import WebhookDelivery
from .webhook_delivery_list_response import WebhookDeliveryListResponse
from .webhook_endpoint import WebhookEndpoint
from .webhook_endpoint_list_response import WebhookEndpointListResponse
from .webhook_endpoint_metadata import WebhookEndpointMetadata
from .webhook_endpoint_response import WebhookEndpointResponse
from .webhook_endpoint_update_response import WebhookEndpointUpdateResponse
from .webhook_endpoint_update_response_status import WebhookEndpointUpdateResponseStatus
from .webhook_test_event import WebhookTestEvent
from .webhook_test_event_type import WebhookTestEventType
from .webhook_topic import WebhookTopic
from .webhook_topic_list_response import WebhookTopicListResponse

__all__ = (
    "Actor",
    "AppointmentCanceledEvent",
    "AppointmentCanceledEventType",
    "AppointmentCanceledPrevious",
    "AppointmentCanceledPreviousCallCategory",
    "AppointmentCreatedEvent",
    "AppointmentCreatedEventType",
    "AppointmentDetail",
    "AppointmentDetailCallCategory",
    "AppointmentDetailChangedResponse",
    "AppointmentDetailChangedResponseStatus",
    "AppointmentDetailResponse",
    "AppointmentDetailSource",
    "AppointmentDetailUpdateResponse",
    "AppointmentDetailUpdateResponseStatus",
    "AppointmentImport",
    "AppointmentImportInputRequest",
    "AppointmentImportResponse",
    "AppointmentImportResponseStatus",
    "AppointmentItem",
    "AppointmentItemCallCategory",
    "AppointmentItemListResponse",
    "AppointmentItemSource",
    "AppointmentOutcomeChangedEvent",
    "AppointmentOutcomeChangedEventType",
    "AppointmentOutcomeChangedPrevious",
    "AppointmentOutcomeChangedPreviousCallCategory",
    "AppointmentRescheduledEvent",
    "AppointmentRescheduledEventType",
    "AppointmentRescheduledPrevious",
    "AppointmentRescheduledPreviousCallCategory",
    "AppointmentUpdatedEvent",
    "AppointmentUpdatedEventType",
    "AppointmentUpdatedPrevious",
    "AppointmentUpdatedPreviousCallCategory",
    "AppointmentUpdateInputRequest",
    "AppointmentUpdateInputRequestCallCategory",
    "AppointmentUpdateInputRequestCustomFields",
    "AppointmentUpdateInputRequestOutcomeRole",
    "Attribution",
    "Booked",
    "BookedResponse",
    "BookedResponseStatus",
    "BookingInputRequest",
    "BookingInputRequestCustomFieldsType0",
    "CallAnalysis",
    "CallAnalysisInputRequest",
    "CallAnalysisResponse",
    "CallAnalysisResponseStatus",
    "CallMatchInputRequest",
    "Canceled",
    "CanceledResponse",
    "CanceledResponseStatus",
    "CancellationDetails",
    "CancellationInputRequest",
    "CancellationInputRequestCanceledBy",
    "CancellationInputRequestIfUnknown",
    "CreatedWebhookEndpoint",
    "CreatedWebhookEndpointMetadata",
    "CreatedWebhookEndpointResponse",
    "CreatedWebhookEndpointResponseStatus",
    "CustomFieldCreatedEvent",
    "CustomFieldCreatedEventType",
    "CustomFieldDeletedEvent",
    "CustomFieldDeletedEventType",
    "CustomFieldDetail",
    "CustomFieldItem",
    "CustomFieldItemListResponse",
    "CustomFieldUpdatedEvent",
    "CustomFieldUpdatedEventType",
    "CustomFieldUpdatedPrevious",
    "CustomFieldValue",
    "DeletedNote",
    "DeletedNoteResponse",
    "DeletedNoteResponseStatus",
    "DeletedRows",
    "EndpointInputRequest",
    "EndpointInputRequestMetadataType0",
    "EndpointUpdateInputRequest",
    "EndpointUpdateInputRequestMetadataType0",
    "ErasedLead",
    "Error",
    "ErrorStatus",
    "Event",
    "EventData",
    "EventDetails",
    "EventListResponse",
    "EventPrevious",
    "EventSamplesResponse",
    "EventType",
    "EventTypeDetail",
    "EventTypeDetailCallCategory",
    "EventTypeItem",
    "EventTypeItemCallCategory",
    "EventTypeItemListResponse",
    "EventTypeUpdatedEvent",
    "EventTypeUpdatedEventType",
    "EventTypeUpdatedPrevious",
    "EventTypeUpdatedPreviousCallCategory",
    "ImportedAppointment",
    "ImportedAppointmentErrors",
    "ImportedLead",
    "ImportedLeadErrors",
    "Key",
    "LeadCreatedEvent",
    "LeadCreatedEventType",
    "LeadDetail",
    "LeadDetailChangedResponse",
    "LeadDetailChangedResponseStatus",
    "LeadDetailResponse",
    "LeadDetailUpdateResponse",
    "LeadDetailUpdateResponseStatus",
    "LeadErasedEvent",
    "LeadErasedEventType",
    "LeadErasure",
    "LeadErasureResponse",
    "LeadErasureResponseStatus",
    "LeadImport",
    "LeadImportInputRequest",
    "LeadImportResponse",
    "LeadImportResponseStatus",
    "LeadItem",
    "LeadItemListResponse",
    "LeadMergedEvent",
    "LeadMergedEventType",
    "LeadMergedPrevious",
    "LeadNoteCreatedEvent",
    "LeadNoteCreatedEventType",
    "LeadNoteDeletedEvent",
    "LeadNoteDeletedEventType",
    "LeadNoteDetail",
    "LeadNoteInputRequest",
    "LeadNoteItem",
    "LeadNoteItemListResponse",
    "LeadNoteItemResponse",
    "LeadNoteItemResponseStatus",
    "LeadNoteItemUpdateResponse",
    "LeadNoteItemUpdateResponseStatus",
    "LeadNoteUpdatedEvent",
    "LeadNoteUpdatedEventType",
    "LeadNoteUpdatedPrevious",
    "LeadNoteUpdateInputRequest",
    "LeadStatusChange",
    "LeadStatusChangedEvent",
    "LeadStatusChangedEventType",
    "LeadStatusChangedPrevious",
    "LeadStatusChangeListResponse",
    "LeadSummary",
    "LeadUpdatedEvent",
    "LeadUpdatedEventType",
    "LeadUpdatedPrevious",
    "LeadUpdateInputRequest",
    "LeadUpdateInputRequestCustomFields",
    "LeadUpsertInputRequest",
    "LeadUpsertInputRequestCustomFields",
    "LeadUpsertInputRequestOverwriteItem",
    "Limits",
    "ListAppointmentsCallCategoryItem",
    "ListAppointmentsOrdering",
    "ListAppointmentsOutcomeRoleItem",
    "ListDeliveriesOfWebhookEndpointStateItem",
    "ListLeadsOrdering",
    "ListLeadsStatusRoleItem",
    "ListOptInsOrdering",
    "ListOptInsSource",
    "Me",
    "Member",
    "MemberListResponse",
    "MemberUpdatedEvent",
    "MemberUpdatedEventType",
    "MemberUpdatedPrevious",
    "MeResponse",
    "Note",
    "NoteCreatedEvent",
    "NoteCreatedEventType",
    "NoteDeletedEvent",
    "NoteDeletedEventType",
    "NoteDetail",
    "NoteInputRequest",
    "NoteItem",
    "NoteItemListResponse",
    "NoteItemResponse",
    "NoteItemResponseStatus",
    "NoteItemUpdateResponse",
    "NoteItemUpdateResponseStatus",
    "NoteUpdatedEvent",
    "NoteUpdatedEventType",
    "NoteUpdatedPrevious",
    "NoteUpdateInputRequest",
    "OptInCreatedEvent",
    "OptInCreatedEventType",
    "OptInDetail",
    "OptInDetailResponse",
    "OptInDetailSource",
    "OptInInputRequest",
    "OptInInputRequestSource",
    "OptInItem",
    "OptInItemListResponse",
    "OptInItemSource",
    "OptInUpdatedEvent",
    "OptInUpdatedEventType",
    "OptInUpdatedPrevious",
    "OptInUpdatedPreviousSource",
    "Organization",
    "Outcome",
    "OutcomeChange",
    "OutcomeChangeListResponse",
    "OutcomeRole",
    "Pagination",
    "QuestionAnswer",
    "QuestionAnswerInputRequest",
    "RememberedCancellation",
    "RememberedCancellationResponse",
    "RememberedCancellationResponseStatus",
    "Replayed",
    "ReplayedResponse",
    "ReplayedResponseStatus",
    "ReplayInputRequest",
    "Rescheduled",
    "RescheduledResponse",
    "RescheduledResponseStatus",
    "ReschedulingDetails",
    "ReschedulingInputRequest",
    "ReschedulingInputRequestRescheduledBy",
    "Reset",
    "ResetResponse",
    "ResetResponseStatus",
    "RotatedSecret",
    "RotatedSecretResponse",
    "RotatedSecretResponseStatus",
    "SentTest",
    "SentTestResponse",
    "SentTestResponseStatus",
    "Source",
    "SourceItem",
    "SourceItemListResponse",
    "Status",
    "StatusCreatedEvent",
    "StatusCreatedEventType",
    "StatusDeletedEvent",
    "StatusDeletedEventType",
    "StatusDetail",
    "StatusDetailRole",
    "StatusDetailType",
    "StatusListResponse",
    "StatusRole",
    "StatusType",
    "StatusUpdate",
    "StatusUpdatedEvent",
    "StatusUpdatedEventType",
    "StatusUpdatedPrevious",
    "StatusUpdatedPreviousRole",
    "StatusUpdatedPreviousType",
    "StatusUpdateInputRequest",
    "StatusUpdateResponse",
    "StatusUpdateResponseStatus",
    "Submitted",
    "SubmittedResponse",
    "SubmittedResponseStatus",
    "SyncedAppointment",
    "SyncedAppointmentResponse",
    "SyncedAppointmentResponseStatus",
    "SyncedLeadInputRequest",
    "SyncedOptIn",
    "SyncedOptInInputRequest",
    "SyncedOptInResponse",
    "SyncedOptInResponseStatus",
    "SyncInputRequest",
    "SyncInputRequestCanceledBy",
    "SyncInputRequestState",
    "TestData",
    "TrafficAttribution",
    "TrafficInputRequest",
    "UpsertedLead",
    "UpsertedLeadResponse",
    "UpsertedLeadResponseStatus",
    "User",
    "UTMInputRequest",
    "ValidationError",
    "ValidationErrorErrors",
    "ValidationErrorStatus",
    "WebhookDelivery",
    "WebhookDeliveryListResponse",
    "WebhookEndpoint",
    "WebhookEndpointListResponse",
    "WebhookEndpointMetadata",
    "WebhookEndpointResponse",
    "WebhookEndpointUpdateResponse",
    "WebhookEndpointUpdateResponseStatus",
    "WebhookTestEvent",
    "WebhookTestEventType",
    "WebhookTopic",
    "WebhookTopicListResponse",
)
