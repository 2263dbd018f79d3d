import {
  ELSEWHERE,
  flag,
  millis,
  oneOf,
  or,
  where,
  type Defaulted,
  type DurationMs,
  type Rule,
  type Table,
  type UpOptions,
  nowCalled,
} from '../../src/internal.ts'

/** The options that all stores on SQL have. */
export interface SqlOptions {
  /**
   * `auto` brings the tables up to date in `open()`. `check` only checks them, for users who may not create tables.
   * @defaultValue `auto`
   */
  readonly setup?: 'auto' | 'check'
  /**
   * How long a call waits for another call or transaction that holds one of its keys or partitions, in milliseconds. A
   * claim then answers `busy`. It does not limit handlers. Must be less than `queryTimeoutMs`. MariaDB and MySQL count
   * whole seconds: it is rounded up for them.
   * @defaultValue 1000
   */
  readonly lockTimeoutMs?: DurationMs
  /**
   * How long the store waits for the answer to one of its own statements, or for a connection, in milliseconds. After
   * that it closes the connection, and the answer counts as unknown. Statements of handlers have only the limits of the
   * pool.
   * @defaultValue 10000
   */
  readonly queryTimeoutMs?: DurationMs
}

/** Their rules, and one that all stores with transactions have. */
export const SQL: {
  readonly setup: Defaulted<'auto' | 'check'>
  readonly lockTimeoutMs: Defaulted<DurationMs>
  readonly queryTimeoutMs: Defaulted<DurationMs>
  readonly idleInTransactionTimeoutMs: Defaulted<DurationMs>
} = {
  setup: or('auto', oneOf('auto', 'check')),
  lockTimeoutMs: or(1_000, millis()),
  queryTimeoutMs: or(10_000, millis()),
  idleInTransactionTimeoutMs: or(300_000, millis({ least: 0 })),
}

/**
 * @param lockWait - `lockTimeoutMs` as the server counts it
 * @param problems - problems are added here
 */
export function problemsOfLockWait(
  { lockTimeoutMs, queryTimeoutMs }: { readonly lockTimeoutMs: DurationMs; readonly queryTimeoutMs: DurationMs },
  lockWait: { readonly ms: DurationMs; readonly unit: string },
  problems: string[],
): void {
  if (lockWait.ms < queryTimeoutMs) return
  problems.push(
    `lockTimeoutMs: expected less than queryTimeoutMs (${queryTimeoutMs})${lockWait.unit}, got ${lockTimeoutMs}`,
  )
}

/** Its password is not told. */
export const URL_OF_DATABASE: Rule<string> = where('the URL of a database', (url) => typeof url === 'string', {
  got: (url) => typeof url,
})

export const UP: Table<UpOptions> = { dryRun: or(false, flag()), [ELSEWHERE]: { isDryRun: nowCalled('dryRun') } }
