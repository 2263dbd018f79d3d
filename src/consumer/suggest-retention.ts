import type { Backoff } from '../core/backoff.ts'
import { suggestRetention as suggest, type RedeliveryFacts, type RetentionAdvice } from '../core/retention.ts'
import { ConfigError } from '../foundation/errors.ts'
import { checkNames, givenOf } from '../foundation/option-checks.ts'

const KNOWN: { readonly [O in keyof Required<RedeliveryFacts>]: true } = {
  topicRetentionMs: true,
  queueTtlMs: true,
  leaseMs: true,
  maxAttempts: true,
  handlerTimeoutMs: true,
  graceMs: true,
  delays: true,
}
const BACKOFF = { initialMs: true, maxMs: true }

/**
 * How long `done` must be kept so that no redelivery outlives it: as long as the broker can keep a message, plus the
 * longest time that the message can then be in flight in the consumer. Rounded up to whole hours.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function suggestRetention(facts: RedeliveryFacts): RetentionAdvice {
  const problems: string[] = []
  if (!isObject(facts)) throw new ConfigError([`facts: expected an object, got ${show(facts)}`])
  const given = givenOf(facts)
  checkNames('', given, { of: 'suggestRetention()', known: KNOWN }, problems)
  for (const name of ['topicRetentionMs', 'queueTtlMs'] as const) {
    const hint = name === 'topicRetentionMs' && Number(given[name]) === -1 ? "; -1 of the broker is 'for-ever'" : ''
    if (given[name] !== 'for-ever') checkMs(name, given[name], problems, { or: ", or 'for-ever'", hint })
  }
  for (const name of ['leaseMs', 'handlerTimeoutMs', 'graceMs'] as const) checkMs(name, given[name], problems)
  const { maxAttempts = 1, delays } = given
  if (!Number.isSafeInteger(maxAttempts) || maxAttempts < 1) {
    problems.push(`maxAttempts: expected a whole number from 1, got ${show(maxAttempts)}`)
  }
  if (delays !== undefined) checkDelays(delays, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  return suggest(given)
}

function checkDelays(delays: unknown, problems: string[]): void {
  if (Array.isArray(delays)) {
    for (const [at, delayMs] of delays.entries()) checkMs(`delays[${at}]`, delayMs ?? null, problems)
  } else if (isObject(delays)) {
    checkNames('delays.', delays as Partial<Backoff>, { of: 'suggestRetention()', known: BACKOFF }, problems)
    const { initialMs = null, maxMs = null } = delays as { readonly initialMs?: unknown; readonly maxMs?: unknown }
    checkMs('delays.initialMs', initialMs, problems)
    checkMs('delays.maxMs', maxMs, problems)
  } else problems.push(`delays: expected { initialMs, maxMs } or a list of milliseconds, got ${show(delays)}`)
}

/** `undefined` means not given. */
function checkMs(name: string, value: unknown, problems: string[], { or = '', hint = '' } = {}): void {
  if (value === undefined || (typeof value === 'number' && Number.isFinite(value) && value >= 0)) return
  problems.push(`${name}: expected milliseconds from 0${or}, got ${show(value)}${hint}`)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** JSON has no NaN. */
function show(value: unknown): string {
  return typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? typeof value)
}
