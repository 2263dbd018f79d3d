// Who asks, which consumers there are, and what their processes tell.

import type { DurationMs, EpochMs } from '../../src/core/units.ts'
import type { LiveSnapshot } from '../../src/signals/live-snapshot.ts'

/**
 * `status` repeats that of the response: 400 the request is wrong, 401 no credentials, 403 refused by Origin, Host, CSRF token or `auth`,
 * 404 not there, 405 the dashboard is read-only, 409 refused by a state or a safety rule, 413 body too large, 429 too many requests
 * (`retryAfterMs`), 503 a store or broker does not answer: ask again, the page heals by itself.
 */
export interface ApiError {
  readonly error: {
    readonly status: number
    /** A code of the library, such as `STORE_UNREACHABLE` or `REPLAY_REFUSED`, or `HTTP_...`. */
    readonly code: string
    /** One sentence for people. */
    readonly message: string
    readonly retryAfterMs?: DurationMs
  }
}

export interface ConsumerQuery {
  readonly consumer: string
}

export interface SessionInfo {
  readonly version: string
  /** The clock of this server, to compare with times in answers. */
  readonly now: EpochMs
  /** Who decides, for the audit: from `auth`, or the user of the operating system. */
  readonly by: string
  readonly readOnly: boolean
  /** For `x-consume-once-csrf`. Ask `session` again after a 403 with code `HTTP_CSRF`: the server was restarted. */
  readonly csrfToken: string
  readonly environment: { readonly name: string; readonly color: string } | undefined
  /** False: nothing live is known, only records: no `live`, and no `instances`. */
  readonly hasLive: boolean
  readonly consumers: readonly ConsumerInfo[]
}

export interface ConsumerInfo {
  /** `group/name`, unique. */
  readonly id: string
  readonly name: string
  /** Consumer group, or queue. */
  readonly group: string
  readonly origins: readonly string[]
  readonly strategy: 'lease' | 'inbox' | 'offsets'
  readonly system: string | undefined
  readonly scope: string
  readonly retentionMs: DurationMs
  /** Places with dead letters, as `from` of a plan: `kafka:sms.dead-letter`. */
  readonly deadLetters: readonly string[]
  /** Places that a plan may read: topics or the queue, and the dead-letter places. */
  readonly places: readonly string[]
  readonly can: {
    /** Records can be listed and decided about; false for strategy `offsets`. */
    readonly records: boolean
    readonly positions: boolean
    readonly audit: boolean
    readonly plan: boolean
    /** Its replays and redrives are listed. */
    readonly replay: boolean
    /** A message can be found by topic, partition and offset. */
    readonly place: boolean
    /** Dead letters can be looked at now: false on a queue while read-only. */
    readonly deadLetters: boolean
    /** Payloads and headers of its messages may be shown. */
    readonly payload: boolean
    /** Its handlers may publish into an outbox. */
    readonly outbox: boolean
  }
}

/** `this process`, or the address of an instance. */
export interface LiveInstance {
  readonly name: string
  readonly state: 'ok' | 'unreachable'
  /** Why it is unreachable. No secrets. */
  readonly error?: string
  /** `undefined` while it was never reached. While it is unreachable: the last one. */
  readonly snapshot: LiveSnapshot | undefined
}

export interface LiveAnswer {
  readonly now: EpochMs
  readonly instances: readonly LiveInstance[]
}
