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

const STEPS = 360

/** Steps of processes with other clocks are put into the same steps, counted back from the newest. */
export function combine(all: readonly Running[], stepMs = 10_000): Combined {
  const newest = Math.max(0, ...all.map(({ live }) => live.series.at.at(-1) ?? 0))
  const last = Math.floor(newest / stepMs) * stepMs
  const at = Array.from({ length: STEPS }, (_, index) => last - (STEPS - 1 - index) * stepMs)
  const zeros = (): number[] => Array.from({ length: STEPS }, () => 0)
  const nulls = (): (number | null)[] => Array.from({ length: STEPS }, () => null)
  const outcomes = Object.fromEntries(OUTCOME_NAMES.map((name) => [name, zeros()])) as Record<Outcome, number[]>
  const attemptsFailed = zeros()
  const handlerP50Ms = nulls()
  const handlerP99Ms = nulls()
  const endToEndP99Ms = nulls()
  for (const { live } of all) {
    const { series } = live
    for (const [step, time] of series.at.entries()) {
      const index = STEPS - 1 - Math.round((last - Math.floor(time / stepMs) * stepMs) / stepMs)
      if (index < 0 || index >= STEPS) continue
      for (const name of OUTCOME_NAMES) add(outcomes[name], index, series.outcomes[name]?.[step])
      add(attemptsFailed, index, series.attemptsFailed[step])
      worst(handlerP50Ms, index, series.handlerP50Ms[step])
      worst(handlerP99Ms, index, series.handlerP99Ms[step])
      worst(endToEndP99Ms, index, series.endToEndP99Ms[step])
    }
  }
  return { stepMs, at, outcomes, attemptsFailed, handlerP50Ms, handlerP99Ms, endToEndP99Ms }
}

/** The last part of it, several steps in one: at most `most` columns. */
export function coarse(combined: Combined, minutes: number, most: number): Combined {
  const steps = Math.min(combined.at.length, Math.round((minutes * 60_000) / combined.stepMs))
  const each = Math.max(1, Math.ceil(steps / most))
  const stepMs = combined.stepMs * each
  // Columns begin at whole multiples of their length, so that they do not change their height from look to look.
  const first = Math.floor((combined.at[combined.at.length - steps] ?? 0) / stepMs) * stepMs
  const length = Math.floor(((combined.at.at(-1) ?? 0) - first) / stepMs) + 1
  const at = Array.from({ length }, (_, index) => first + index * stepMs)
  const sums = (values: readonly number[]): number[] => {
    const sum = Array.from({ length }, () => 0)
    fold(combined.at, first, stepMs, (from, to) => add(sum, to, values[from]))
    return sum
  }
  const worsts = (values: readonly (number | null)[]): (number | null)[] => {
    const highest = Array.from<unknown, number | null>({ length }, () => null)
    fold(combined.at, first, stepMs, (from, to) => worst(highest, to, values[from]))
    return highest
  }
  return {
    stepMs,
    at,
    outcomes: Object.fromEntries(
      OUTCOME_NAMES.map((name) => [name, sums(combined.outcomes[name])]),
    ) as unknown as Combined['outcomes'],
    attemptsFailed: sums(combined.attemptsFailed),
    handlerP50Ms: worsts(combined.handlerP50Ms),
    handlerP99Ms: worsts(combined.handlerP99Ms),
    endToEndP99Ms: worsts(combined.endToEndP99Ms),
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

function fold(at: readonly number[], first: number, stepMs: number, put: (from: number, to: number) => void): void {
  for (const [from, time] of at.entries()) {
    const to = Math.floor((time - first) / stepMs)
    if (to >= 0) put(from, to)
  }
}

function add(values: number[], at: number, value: number | undefined): void {
  values[at] = (values[at] ?? 0) + (value ?? 0)
}

function worst(values: (number | null)[], at: number, value: number | null | undefined): void {
  if (value === null || value === undefined) return
  values[at] = Math.max(values[at] ?? 0, value)
}
