import type { EpochMs } from '../core/units.ts'
import { redactedDetail, redactedError } from '../pipeline/telemetry/redact.ts'
import type { Message } from '../ports/message.ts'
import type { ObserverEvent } from '../ports/observer.ts'
import type { LiveEntry } from './live-snapshot.ts'

type EventOf<Type extends ObserverEvent['type']> = Extract<ObserverEvent, { readonly type: Type }>

/** Texts of a whole dead letter have at most 1 KB. */
const LONGEST_DETAIL = 1_024

/** Keeps no part of the event: a message may be large. */
export function entryOfDelivery(event: EventOf<'delivery'>, at: EpochMs): LiveEntry {
  const { consumer, key, message, outcome, refused, why, endedAs, copied, reason, attempt, fence, since } = event
  const { durations, endToEndMs, error } = event
  const detail = event.detail ?? (error === undefined ? undefined : '')
  return defined({
    type: 'delivery',
    at,
    consumer,
    key,
    ...placeOf(message),
    outcome,
    refused,
    why,
    endedAs,
    copied,
    reason,
    detail: detail === undefined ? undefined : cut(redactedDetail({ detail, error }, message)),
    attempt,
    fence,
    since,
    durations,
    endToEndMs,
  })
}

type StepEvent = EventOf<
  'attempt-failed' | 'put-off' | 'in-doubt' | 'lease-lost' | 'stuck' | 'publish-failed' | 'beyond-retention'
>

export function entryOfStep(event: StepEvent, at: EpochMs): LiveEntry {
  const { type, consumer, key, message } = event
  return defined({
    type,
    at,
    consumer,
    key,
    ...placeOf(message),
    attempt: 'attempt' in event ? event.attempt : undefined,
    detail: detailOf(event),
    retryInMs: 'retryInMs' in event ? event.retryInMs : undefined,
  })
}

function detailOf(event: StepEvent): string | undefined {
  const text = (error: unknown): string => cut(redactedError(error, event.message))
  switch (event.type) {
    case 'attempt-failed':
    case 'put-off':
      return text(event.error)
    case 'publish-failed':
      return `${event.place}: ${text(event.error)}`
    case 'in-doubt':
      return event.error === undefined ? event.policy : `${event.policy}: ${text(event.error)}`
    case 'beyond-retention':
      return event.policy
    case 'lease-lost':
    case 'stuck':
      return undefined
  }
}

function placeOf(message: Message): Pick<LiveEntry, 'system' | 'destination' | 'origin' | 'position'> {
  const { system, destination, origin, position, redelivered, timestamp } = message
  return defined({ system, destination, origin, position, redelivered, timestamp })
}

function cut(text: string): string {
  return text.length > LONGEST_DETAIL ? `${text.slice(0, LONGEST_DETAIL)}…` : text
}

/** `exactOptionalPropertyTypes`: a field that is not there is left out, also from the memory of thousands of entries. */
function defined<T>(fields: { readonly [Name in keyof T]: T[Name] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T
}
