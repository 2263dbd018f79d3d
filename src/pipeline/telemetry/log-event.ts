import type { InDoubtPolicy } from '../../core/after-claim.ts'
import type { Key } from '../../core/record.ts'
import type { Logger } from '../../ports/logger.ts'
import type { Message } from '../../ports/message.ts'
import type { ObserverEvent } from '../../ports/observer.ts'
import type { Outcome } from '../../ports/outcome.ts'
import { unawaited } from '../../foundation/at-once.ts'
import { isoTime } from '../../foundation/clock.ts'
import { loggedError } from './logged-error.ts'
import { nextStep } from './next-step.ts'

const LEVEL: Record<Outcome, 'debug' | 'info' | 'warn' | 'error'> = {
  handled: 'debug',
  skipped: 'debug',
  duplicate: 'debug',
  joined: 'debug',
  'handed-back': 'debug',
  failed: 'warn',
  'settle-refused': 'info',
  'dead-lettered': 'error',
  parked: 'warn',
  'lease-lost': 'warn',
}

const AFTER_DOUBT: Readonly<Record<InDoubtPolicy, string>> = {
  rerun: 'runs again, alone',
  park: 'is set aside as parked, for a person',
  reconcile: 'reconcile is asked whether it happened',
}

export interface EventLog {
  readonly log: Logger
  readonly consumer: string
  /** Reads the raw ID of a message. Set only with `logIds`. */
  readonly idOf: ((message: Message) => string | undefined) | undefined
}

/**
 * Logs one line for each event that a person may ask about. It contains no payload, and the raw ID only with `logIds`.
 * Returns what the logger returned.
 */
export function logEvent({ log, consumer, idOf }: EventLog, event: ObserverEvent): unknown {
  const about = ({ message, key }: { readonly message: Message; readonly key?: Key | undefined }): object => {
    const { system, destination, position, redelivered } = message
    return { consumer, key, ...(idOf && { id: idOf(message) }), system, destination, position, redelivered }
  }
  switch (event.type) {
    case 'delivery': {
      const level = LEVEL[event.outcome]
      if (!isEnabled(log, level)) return undefined
      const { message, outcome, reason, detail, error, attempt, since, fence, failure, why, endedAs, trace } = event
      const fields = {
        ...about(event), // mutant: payload-logged
        outcome,
        why,
        ended_as: endedAs,
        failure,
        reason,
        ...(error === undefined ? { detail } : { err: loggedError(error, message) }),
        attempt,
        since: since === undefined ? undefined : isoTime(since),
        fence,
        duration_ms: event.durations && Math.round(event.durations.totalMs),
        ...traceField(trace),
        next: nextStep(consumer, event),
      }
      return log[level](fields, outcome)
    }
    case 'attempt-failed':
      return log.warn(
        {
          ...about(event),
          attempt: event.attempt,
          retry_in_ms: event.retryInMs,
          ...traceField(event.trace),
          err: errorOf(event),
        },
        'attempt failed, will be tried again',
      )
    case 'put-off':
      return log.info(
        {
          ...about(event),
          attempt: event.attempt,
          times: event.times,
          retry_in_ms: event.retryInMs,
          ...traceField(event.trace),
          err: errorOf(event),
        },
        'put off: its handler asked for a later time, no attempt is spent',
      )
    case 'in-doubt':
      return log.warn(
        {
          ...about(event),
          attempt: event.attempt,
          policy: event.policy,
          next: AFTER_DOUBT[event.policy],
          ...traceField(event.trace),
          ...(event.error === undefined ? {} : { err: errorOf(event) }),
        },
        'in doubt: its effect may or may not have happened',
      )
    case 'apart':
      return log.info(
        { consumer, keys: event.keys, count: event.keys.length },
        'run apart: one of them may have killed a process, so nothing else begins meanwhile',
      )
    case 'result-not-kept':
      return log.error(
        { ...about(event), err: errorOf(event) },
        'result not kept: the effect happened and is marked, duplicates get RESULT_NOT_KEPT in place of the result',
      )
    case 'policy-threw':
      return log.error({ ...about(event), policy: event.policy, err: errorOf(event) }, POLICY_THREW[event.policy])
    case 'beyond-retention':
      // During a replay every message may be one, so `debug`. The outcome of a parked message is a warning.
      return log.debug(
        { ...about(event), policy: event.policy, timestamp: event.message.timestamp },
        'beyond retention: the store has no record, and may have forgotten one',
      )
    case 'purged':
      return log.info({ consumer, removed: event.removed }, 'purged')
    case 'purge-failed':
      return log.warn({ consumer, err: loggedError(event.error) }, 'purge failed, will be tried again')
    case 'lease-lost':
      return log.warn(about(event), 'lease lost: another owner has the message, or it is done')
    case 'observed':
      if (event.example === undefined) return undefined
      return log.debug({ consumer, ...event.example }, `observed: enforced, it would be: ${event.verdict}`)
    case 'unprotected-run':
      return log.warn(
        { ...about(event), result: event.result, ...traceField(event.trace) },
        'unprotected: the store does not answer, so its effect may happen again',
      )
    case 'stuck':
      return log.error(
        { ...about(event), attempt: event.attempt, ...traceField(event.trace) },
        'stuck: the handler is past its timeout and ignores its signal',
      )
    case 'stalled': {
      const { place, count, oldest, forMs } = event
      return log.error(
        { consumer, place, count, oldest, for_ms: forMs },
        'stalled: there is work, and nothing of it has ended or begun',
      )
    }
    case 'stall-over':
      return log.info({ consumer, place: event.place }, 'no longer stalled')
    case 'holding': {
      const { failures, last, retryInMs } = event
      return log.error(
        { consumer, failures, last, retry_in_ms: retryInMs },
        'holding: nothing but final failures comes through, see health().checks.hold',
      )
    }
    case 'hold-over':
      return log.warn({ consumer, held_ms: event.heldMs, because: event.because }, 'no longer holding')
    case 'paused':
    case 'resumed':
      return log.warn({ consumer, by: event.by, reason: event.reason }, `${event.type} by a person`)
    case 'publish-failed':
      return log.error(
        { ...about(event), place: event.place, retry_in_ms: event.retryInMs, err: errorOf(event) },
        'copy not confirmed, will be published again',
      )
    case 'store-down':
      return log.error(
        { consumer, err: loggedError(event.error) },
        event.runsOn ? 'store down: messages run without a claim' : 'store down: paused',
      )
    case 'store-up':
      return log.info({ consumer }, 'store up: going on')
    case 'decode-down':
      return log.error(
        { ...about(event), err: errorOf(event) },
        'decode down: what decodes payloads does not answer, messages wait and are tried again',
      )
    case 'decode-up':
      return log.info({ consumer }, 'decode up: no message waits for its payload')
    case 'limit-down':
      return log.error(
        { consumer, err: loggedError(event.error) },
        'limit down: the shared limiter does not answer, nothing begins',
      )
    case 'limit-up':
      return log.info({ consumer }, 'limit up: going on')
    case 'invariant-broken':
      return log.error(
        { consumer, err: loggedError(event.error) },
        'invariant broken: a settle was refused, please report it',
      )
    case 'source':
      return log[event.isWarning ? 'warn' : 'info']({ consumer, event: event.event, detail: event.detail }, event.event)
    case 'started':
    case 'stopped':
    case 'handler-run':
    case 'store-call':
    case 'claims':
    case 'marks':
    case 'settles':
      return undefined
  }
}

const POLICY_THREW: Readonly<Record<Extract<ObserverEvent, { type: 'policy-threw' }>['policy'], string>> = {
  rememberFailure: 'rememberFailure threw: treated as false',
  sealResult: 'sealResult threw: the failure is not remembered',
  'limit.by': "limit.by gave no key: the message waits under the key ''",
}

/** A promise counts as yes. */
export function isEnabled(log: Logger, level: 'debug' | 'info' | 'warn' | 'error'): boolean {
  const answer: unknown = log.isLevelEnabled?.(level)
  unawaited(answer)
  return answer !== false
}

/** The field that log viewers look for. */
function traceField(trace: string | undefined): { readonly trace_id?: string | undefined } {
  return trace === undefined ? {} : { trace_id: trace.split('-')[1] }
}

function errorOf({ error, message }: { readonly error?: unknown; readonly message: Message }): object {
  return loggedError(error, message)
}
