export type { ActivateAnswer, ProposeAnswer } from './correction.js';
export type {
  DestinationReference,
  IntakeEraseAnswer,
  IntakePlaces,
  OwnerEraseAnswer,
  SubjectAnswer,
  SubjectKey,
  SubjectLead,
} from './erasure.js';
export type { EventDescriptor } from './event.js';
export {
  type Disposition,
  dispositions,
  type FailureClass,
  type FailureOwner,
  type FailurePolicy,
  failureClasses,
  failureOwners,
  failurePolicies,
} from './failure-classes.js';
export {
  type Consent,
  type Contact,
  type LeadAccepted,
  LeadAcceptedEvent,
  type LeadResolved,
  LeadResolvedEvent,
  type LeadSubmitted,
  LeadSubmittedEvent,
  type OperationResult,
} from './generated/events.js';
export { headers } from './headers.js';
export { operationKey, refusedRecord, resolutionName, resolutionNamespace, unrouted } from './keys.js';
export type { LeadPayload, VaultReadItem } from './lead-payload.js';
export type {
  Announcement,
  CourseDelivery,
  CourseRefusal,
  FoundLead,
  LeadCourse,
  MaskAnswer,
  MaskedContact,
  RevealAnswer,
  RevealedFields,
} from './lead-search.js';
export { notificationName, parseNotificationName } from './notification-name.js';
export {
  type DeliveryState,
  deliveryState,
  finalStates,
  isFinal,
  type OperationState,
  operationStates,
  worstDelivery,
  worstFirst,
} from './states.js';
export {
  dlqTopic,
  type GroupSpec,
  groups,
  longestDeadlineMs,
  longestRecoveryMs,
  longestVaultMs,
  type RetryTier,
  replayTopic,
  retryTierMs,
  retryTiers,
  retryTopic,
  type TopicSpec,
  topics,
  topology,
} from './topics.js';
