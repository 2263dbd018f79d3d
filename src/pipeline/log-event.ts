import type { Logger } from '../ports/logger.ts'
import type { ObserverEvent, Outcome } from '../ports/observer.ts'
import { loggedError } from './logged-error.ts'

const LEVEL: Record<Outcome, 'debug' | 'warn' | 'error'> = {
  handled: 'debug',
  duplicate: 'debug',
  joined: 'debug',
  'handed-back': 'debug',
  failed: 'warn',
  'settle-refused': 'warn',
  'dead-lettered': 'error',
  parked: 'warn',
  'lease-lost': 'warn',
}

/** Characters of a key that a log shows: an ID is often a phone number, so never the ID itself. */
const KEY_SHOWN = 12

/** One line for what a person may ask about. No payload, no raw ID. */
export function logEvent(log: Logger, consumer: string, event: ObserverEvent): void {
  switch (event.type) {
    case 'delivery': {
      const { message, outcome, reason, detail, error, attempt, fence, failure } = event
      const { system, destination, position, redelivered } = message
      const fields = {
        consumer,
        key: shown(event.key),
        outcome,
        failure,
        reason,
        ...(error === undefined ? { detail } : { err: loggedError(error, message) }),
        attempt,
        fence,
        system,
        destination,
        position,
        redelivered,
      }
      return log[LEVEL[outcome]](fields, outcome)
    }
    case 'attempt-failed':
      return log.warn(
        {
          consumer,
          key: shown(event.key),
          attempt: event.attempt,
          retry_in_ms: event.retryInMs,
          err: loggedError(event.error, event.message),
        },
        'attempt failed, will be tried again',
      )
    case 'in-doubt':
      return log.warn(
        {
          consumer,
          key: shown(event.key),
          ...(event.error === undefined ? {} : { err: loggedError(event.error, event.message) }),
        },
        'in doubt: its effect may or may not have happened',
      )
    case 'apart':
      return log.info(
        { consumer, keys: event.keys.map(shown), count: event.keys.length },
        'run apart: one of them may have killed a process, and nothing else begins meanwhile',
      )
    case 'result-not-kept':
      return log.error(
        { consumer, key: shown(event.key), err: loggedError(event.error, event.message) },
        'result not kept: the effect happened and is marked, duplicates are told that its result is lost',
      )
    case 'policy-threw':
      return log.error(
        { consumer, key: shown(event.key), policy: event.policy, err: loggedError(event.error, event.message) },
        event.policy === 'sealResult'
          ? 'sealResult threw: the failure is not remembered'
          : 'rememberFailure threw: taken for false',
      )
    case 'beyond-retention':
      // Each message of a replay may be one: the outcome of those that are parked is a warning.
      return log.debug(
        { consumer, key: shown(event.key), policy: event.policy, timestamp: event.message.timestamp },
        'beyond retention: that nothing is known of it proves nothing',
      )
    case 'purged':
      return log.info({ consumer, removed: event.removed }, 'purged')
    case 'purge-failed':
      return log.warn({ consumer, err: loggedError(event.error) }, 'purge failed, will be tried again')
    case 'lease-lost':
      return log.warn({ consumer, key: shown(event.key) }, 'lease lost: another owner has the message, or it is done')
    case 'stuck':
      return log.error(
        { consumer, key: shown(event.key) },
        'stuck: the handler is past its timeout and deaf to its signal',
      )
    case 'publish-failed':
      return log.error(
        {
          consumer,
          place: event.place,
          key: shown(event.key),
          retry_in_ms: event.retryInMs,
          err: loggedError(event.error, event.message),
        },
        'copy not confirmed, will be published again',
      )
    case 'store-down':
      return log.error({ consumer, err: loggedError(event.error) }, 'store down: paused')
    case 'store-up':
      return log.info({ consumer }, 'store up: going on')
    case 'invariant-broken':
      return log.error(
        { consumer, err: loggedError(event.error) },
        'invariant broken: a settle was refused, please report it',
      )
    case 'source':
      return log[event.isWarning ? 'warn' : 'info']({ consumer, event: event.event, detail: event.detail }, event.event)
    case 'claims':
    case 'marks':
    case 'settles':
      return undefined
  }
}

function shown(key: string | undefined): string | undefined {
  return key?.slice(0, KEY_SHOWN)
}
