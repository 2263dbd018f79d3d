import { countDoubles, effectsById, judgeDoubles, type EffectsById, type EffectsLaw } from '../judge-effects.ts'
import type { Verdict, Violation } from '../verdict.ts'
import type { Evidence } from './evidence.ts'

type Law =
  | EffectsLaw
  | 'nothing-lost'
  | 'queue-is-empty'
  | 'only-poison-is-dead-lettered'
  | 'all-poison-is-dead-lettered'
  | 'no-unexplained-dead-letter'
  | 'never-settled-unfinished-work'
  | 'nothing-refused'

/** Compares Postgres, the queues and the wire with what was sent. Uses nothing that a worker reported. */
export function judge(evidence: Evidence): Verdict<Law> {
  const { acknowledged, poison, sent, wire, left, deadLetters } = evidence
  const effects = effectsById(evidence.effects)
  const deadLettersOf = counted(deadLetters)
  return {
    violations: [
      ...lost(evidence, effects, deadLettersOf),
      ...judgeDoubles(effects, evidence),
      ...leftOver(left),
      ...wronglyDeadLettered(evidence, deadLettersOf),
      ...unexplained(evidence, deadLettersOf),
      ...settledTooEarly(evidence, effects),
      ...wire.refusals.map((detail) => ({ law: 'nothing-refused', detail }) as const),
    ],
    figures: {
      ids: acknowledged.size,
      sent: sum(sent.values()),
      effects: evidence.effects.length,
      doubles: countDoubles(effects),
      poison: [...poison].filter((id) => acknowledged.has(id)).length,
      deadLetters: deadLetters.length,
      // More than one for each time it was sent.
      deadLettersTooMany: sum([...deadLettersOf].map(([id, times]) => Math.max(0, times - (sent.get(id) ?? 0)))),
      deliveries: wire.deliveries,
      redeliveries: wire.redeliveries,
      ackFrames: wire.ackFrames,
    },
  }
}

/** Messages still in the queue are left over, not lost. */
function lost(evidence: Evidence, effects: EffectsById, deadLetters: ReadonlyMap<string, number>): Violation<Law>[] {
  const { acknowledged, poison } = evidence
  const left = new Set(evidence.left)
  return [...acknowledged]
    .filter((id) => !poison.has(id) && !effects.has(id) && !deadLetters.has(id) && !left.has(id))
    .map((id) => ({ law: 'nothing-lost', detail: `${id} has no effect` }))
}

function leftOver(left: readonly string[]): Violation<Law>[] {
  return left.map((id) => ({ law: 'queue-is-empty', detail: `${id} is in the queue` }))
}

function wronglyDeadLettered(
  { acknowledged, poison, left }: Evidence,
  deadLetters: ReadonlyMap<string, number>,
): Violation<Law>[] {
  const wrong = [...deadLetters.keys()].filter((id) => !poison.has(id))
  const missing = [...poison].filter((id) => acknowledged.has(id) && !deadLetters.has(id) && !left.includes(id))
  return [
    ...wrong.map((id) => ({ law: 'only-poison-is-dead-lettered', detail: `${id} is no poison` }) as const),
    ...missing.map((id) => ({ law: 'all-poison-is-dead-lettered', detail: `${id} has no dead letter` }) as const),
  ]
}

/**
 * One for each time a message was sent. One more for each delivery that was lost with its channel, since its dead letter may
 * have been there already, and for each that was published and never confirmed.
 */
function unexplained({ sent, wire }: Evidence, deadLetters: ReadonlyMap<string, number>): Violation<Law>[] {
  return [...deadLetters].flatMap(([id, times]): Violation<Law>[] => {
    const copies = sent.get(id) ?? 0
    const lostOnes = wire.lostDeliveries.get(id) ?? 0
    const unconfirmed = wire.unconfirmedDeadLetters.get(id) ?? 0
    if (times <= copies + lostOnes + unconfirmed) return []
    const why = `sent ${copies} times, ${lostOnes} deliveries lost, ${unconfirmed} dead letters unconfirmed`
    return [{ law: 'no-unexplained-dead-letter', detail: `${id}: ${times} dead letters, ${why}` }]
  })
}

/** A message may be acked only after its effect is committed or its dead letter is confirmed. */
function settledTooEarly({ wire }: Evidence, effects: EffectsById): Violation<Law>[] {
  return [...wire.settledAt].flatMap(([id, at]): Violation<Law>[] => {
    const doneAt = effects.get(id)?.[0]?.at ?? Number.POSITIVE_INFINITY
    const deadLetterAt = wire.deadLetterConfirmedAt.get(id) ?? Number.POSITIVE_INFINITY
    const finishedAt = Math.min(doneAt, deadLetterAt)
    // Times from the wire are cut to whole milliseconds.
    if (finishedAt < at + 1) return []
    const late =
      finishedAt === Number.POSITIVE_INFINITY ? 'was never finished' : `was finished ${finishedAt - at} ms later`
    return [{ law: 'never-settled-unfinished-work', detail: `${id} was settled at ${at}, and ${late}` }]
  })
}

function counted(ids: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((total, number) => total + number, 0)
}
