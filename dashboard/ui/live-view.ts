// What the live signals of all instances say together. Pure.

import type { LiveAnswer, LiveConsumer, LiveEntry, LiveEvent, Outcome } from '../api.ts'
import { OUTCOME_NAMES, OUTCOMES } from './words.ts'

/** One consumer in one process. */
export interface Running {
  readonly instance: string
  readonly isReachable: boolean
  readonly at: number
  readonly since: number
  readonly live: LiveConsumer
}

export function runningOf({ instances }: LiveAnswer): readonly Running[] {
  return instances.flatMap(({ name, state, snapshot }) =>
    (snapshot?.consumers ?? []).map((live) => ({
      instance: name,
      isReachable: state === 'ok',
      at: snapshot?.at ?? 0,
      since: snapshot?.since ?? 0,
      live,
    })),
  )
}

/** A consumer with a limit, in one process, and who waits there. */
export interface Limited extends Running {
  readonly waiting: number
  /** How long ago the oldest that waits arrived; 0 if none waits. */
  readonly oldestMs: number
  /** In words: for which rate, and what a provider holds back. */
  readonly check: string
}

/** Those that report now, the most waiting first. */
export function limitsOf(answer: LiveAnswer | undefined): readonly Limited[] {
  return (answer === undefined ? [] : runningOf(answer))
    .flatMap((running): readonly Limited[] => {
      const { isReachable, live } = running
      const { limited, oldestLimitedMs = 0, checks = {} } = live.health ?? {}
      if (!isReachable || live.stoppedAt !== undefined || limited === undefined) return []
      return [{ ...running, waiting: limited, oldestMs: oldestLimitedMs, check: checks['limit'] ?? '' }]
    })
    .toSorted((a, b) => b.waiting - a.waiting)
}

export function isOf(running: Running, consumer: { readonly name: string; readonly group: string }): boolean {
  const { live } = running
  return live.consumer === consumer.name && (live.group === undefined || live.group === consumer.group)
}

/** Nothing that a person would look for. */
export function isUsual(entry: LiveEntry): boolean {
  return entry.type === 'delivery' && OUTCOMES[entry.outcome].tone === 'good'
}

/** Series of several consumers, added up by time. */
export interface Combined {
  readonly stepMs: number
  readonly at: readonly number[]
  readonly outcomes: Readonly<Record<Outcome, readonly number[]>>
  readonly attemptsFailed: readonly number[]
  /** The worst of all consumers in each step. */
  readonly handlerP50Ms: readonly (number | null)[]
  readonly handlerP99Ms: readonly (number | null)[]
  readonly endToEndP99Ms: readonly (number | null)[]
}

const STEP_MS = 10_000
const STEPS = 360

/**
 * The last `minutes`, in at most `most` columns. Steps of processes with other clocks are put into the same columns, counted back from
 * the newest.
 */
export function combine(all: readonly Running[], minutes = 60, most: number = STEPS): Combined {
  const newest = Math.max(0, ...all.map(({ live }) => live.series.at.at(-1) ?? 0))
  const last = Math.floor(newest / STEP_MS) * STEP_MS
  const steps = Math.min(STEPS, Math.round((minutes * 60_000) / STEP_MS))
  const stepMs = STEP_MS * Math.max(1, Math.ceil(steps / most))
  // Columns begin at whole multiples of their length, so that they do not change their height from look to look.
  const first = Math.floor((last - (steps - 1) * STEP_MS) / stepMs) * stepMs
  const at = Array.from({ length: Math.floor((last - first) / stepMs) + 1 }, (_, index) => first + index * stepMs)
  const columns = <Value extends number | null>(
    none: Value,
    valuesOf: (series: LiveConsumer['series']) => readonly (number | null)[] | undefined,
    put: (known: Value, value: number) => Value,
  ): readonly Value[] => {
    const filled = at.map(() => none)
    for (const { series } of all.map(({ live }) => live)) {
      const values = valuesOf(series) ?? []
      for (const [step, time] of series.at.entries()) {
        const index = Math.floor((time - first) / stepMs)
        const value = values[step] ?? undefined
        if (value !== undefined && index in filled) filled[index] = put(filled[index] as Value, value)
      }
    }
    return filled
  }
  const sums = (valuesOf: Parameters<typeof columns>[1]): readonly number[] =>
    columns<number>(0, valuesOf, (sum, value) => sum + value)
  const worst = (name: 'handlerP50Ms' | 'handlerP99Ms' | 'endToEndP99Ms'): readonly (number | null)[] =>
    columns<number | null>(
      null,
      (series) => series[name],
      (known, value) => Math.max(known ?? 0, value),
    )
  const outcomes = OUTCOME_NAMES.map((name) => [name, sums((series) => series.outcomes[name])])
  return {
    stepMs,
    at,
    outcomes: Object.fromEntries(outcomes) as Combined['outcomes'],
    attemptsFailed: sums((series) => series.attemptsFailed),
    handlerP50Ms: worst('handlerP50Ms'),
    handlerP99Ms: worst('handlerP99Ms'),
    endToEndP99Ms: worst('endToEndP99Ms'),
  }
}

/** Minutes that a chart shows: all that is known, in one of three lengths, so that a young process is not a thin line. */
export function spanOf({ at, outcomes, attemptsFailed, stepMs }: Combined): 10 | 30 | 60 {
  const first = at.findIndex(
    (_, step) => (attemptsFailed[step] ?? 0) > 0 || OUTCOME_NAMES.some((name) => (outcomes[name][step] ?? 0) > 0),
  )
  const minutes = first < 0 ? 0 : ((at.length - first) * stepMs) / 60_000
  return minutes <= 10 ? 10 : minutes <= 30 ? 30 : 60
}

export function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

export function maxOf(values: readonly (number | null | undefined)[]): number | undefined {
  const known = values.filter((value): value is number => value !== null && value !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}

/** Events of all, the newest first. */
export function eventsOf(
  all: readonly Running[],
  most: number,
): readonly (LiveEvent & { readonly consumer: string })[] {
  return all
    .flatMap(({ live }) => live.events.map((event) => ({ ...event, consumer: live.consumer })))
    .toSorted((a, b) => b.at - a.at)
    .slice(0, most)
}
