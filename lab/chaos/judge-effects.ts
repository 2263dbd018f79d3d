import type { Effect, EvidenceOfEffects, ProcessFault } from './evidence.ts'
import type { Violation } from './verdict.ts'

// The laws of effects, whatever broker brought the messages. Pure.

export type EffectsLaw = 'no-double-effect' | 'no-unexplained-double-effect'

/** Those of an ID in the order of time. */
export type EffectsById = ReadonlyMap<string, readonly Effect[]>

type Faults = Pick<EvidenceOfEffects, 'faults' | 'leaseMs'>

/** From an effect to its mark: half of the longest handler, and a store that answers late. */
const MARKED_WITHIN_MS = 2_000

export function effectsById(effects: readonly Effect[]): EffectsById {
  const found = new Map<string, Effect[]>()
  for (const effect of effects.toSorted((a, b) => a.at - b.at)) {
    const known = found.get(effect.id)
    if (known === undefined) found.set(effect.id, [effect])
    else known.push(effect)
  }
  return found
}

/** Effects beyond the first of an ID. */
export function countDoubles(effects: EffectsById): number {
  return [...effects.values()].reduce((sum, ofOne) => sum + ofOne.length - 1, 0)
}

/** An inbox allows none. */
export function judgeDoubles(effects: EffectsById, evidence: EvidenceOfEffects): Violation<EffectsLaw>[] {
  const doubles = [...effects.values()].filter((ofOne) => ofOne.length > 1)
  return evidence.store === 'postgres' ? doubles.map(double) : doubles.flatMap((one) => unexplained(one, evidence))
}

function double(effects: readonly Effect[]): Violation<EffectsLaw> {
  return { law: 'no-double-effect', detail: listed(effects) }
}

/**
 * A lease allows a second effect only where the process of either was killed or frozen, for longer than a lease, while it
 * handled the message: between the begin of the handler and the mark.
 */
function unexplained(effects: readonly Effect[], evidence: Faults): Violation<EffectsLaw>[] {
  const isExplained = !causesOf(effects, evidence).includes(undefined)
  return isExplained ? [] : [{ law: 'no-unexplained-double-effect', detail: listed(effects) }]
}

/** Explanation of each further effect of an ID; `undefined`: none is known. */
export function causesOf(
  effects: readonly Effect[],
  { faults, leaseMs }: Faults,
): readonly (ProcessFault['kind'] | undefined)[] {
  return effects.slice(1).map((effect, index) => {
    const runs = [effects[index], effect].filter((run) => run !== undefined)
    return faults.find((fault) => runs.some((run) => hits(fault, run, leaseMs)))?.kind
  })
}

function hits(fault: ProcessFault, run: Effect, leaseMs: number): boolean {
  if (fault.process !== run.process || fault.to - fault.from < leaseMs) return false
  return fault.from <= run.at + MARKED_WITHIN_MS && fault.to >= run.begunAt
}

function listed(effects: readonly Effect[]): string {
  const runs = effects.map(({ process, begunAt, at }) => `${process} from ${begunAt} to ${at}`)
  return `${effects[0]?.id}: ${runs.join(', ')}`
}
