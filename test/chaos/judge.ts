import type { Effect, Evidence, PartitionEvidence, ProcessHarm } from './evidence.ts'

/** One law broken, with what a person needs to look into it. */
interface Violation {
  readonly law: Law
  readonly detail: string
}

type Law =
  | 'sent-is-in-the-log'
  | 'nothing-lost'
  | 'no-double-effect'
  | 'no-unexplained-double-effect'
  | 'never-committed-past-unfinished-work'
  | 'offset-never-lowered'
  | 'all-committed-at-the-end'
  | 'no-dead-letter'
  | 'keys-in-order'

export interface Verdict {
  readonly violations: readonly Violation[]
  readonly figures: {
    /** In the topic, with those sent twice. */
    readonly messages: number
    readonly ids: number
    readonly effects: number
    /** Effects beyond the first of an ID. */
    readonly doubles: number
    readonly commits: number
    /** Negative offsets, which kafkajs itself commits. */
    readonly resetsByKafkajs: number
  }
}

/** From an effect to its mark: half of the longest handler, and a store that answers late. */
const MARKED_WITHIN_MS = 2_000

/** Holds what the servers say against what was sent. Nothing here comes from what a worker believes. */
export function judge(evidence: Evidence): Verdict {
  const effects = byId(evidence.effects)
  const ids = new Set(evidence.partitions.flatMap(({ log }) => log.map(({ id }) => id)))
  const doubles = [...effects.values()].filter((ofOne) => ofOne.length > 1)
  const commits = evidence.partitions.flatMap((partition) => partition.commits)
  const violations: Violation[] = [
    ...notInTheLog(evidence, ids),
    ...lost(evidence.partitions, effects),
    ...(evidence.store === 'postgres' ? doubles.map(double) : doubles.flatMap((one) => unexplained(one, evidence))),
    ...evidence.partitions.flatMap((partition, number) => [
      ...committedPast(number, partition, effects),
      ...lowered(number, partition),
      ...leftOver(number, partition, effects),
      ...overtaken(number, partition, effects),
    ]),
  ]
  if (evidence.deadLetters > 0) {
    violations.push({ law: 'no-dead-letter', detail: `${evidence.deadLetters} in the dead-letter topic` })
  }
  return {
    violations,
    figures: {
      messages: evidence.partitions.reduce((sum, { log }) => sum + log.length, 0),
      ids: ids.size,
      effects: evidence.effects.length,
      doubles: doubles.reduce((sum, ofOne) => sum + ofOne.length - 1, 0),
      commits: commits.length,
      resetsByKafkajs: commits.filter(({ offset }) => offset < 0).length,
    },
  }
}

type EffectsById = ReadonlyMap<string, readonly Effect[]>

/** Each in the order of time. */
function byId(effects: readonly Effect[]): EffectsById {
  const found = new Map<string, Effect[]>()
  for (const effect of effects.toSorted((a, b) => a.at - b.at)) {
    const known = found.get(effect.id)
    if (known === undefined) found.set(effect.id, [effect])
    else known.push(effect)
  }
  return found
}

function notInTheLog({ acknowledged }: Evidence, ids: ReadonlySet<string>): Violation[] {
  return [...acknowledged]
    .filter((id) => !ids.has(id))
    .map((id) => ({ law: 'sent-is-in-the-log', detail: `${id} was acknowledged` }))
}

/** Nobody will deliver it again: all its copies are below the committed offset. What is above is left over. */
function lost(partitions: readonly PartitionEvidence[], effects: EffectsById): Violation[] {
  const placeOf = new Map<string, string>()
  const mayCome = new Set<string>()
  for (const [number, { log, committed }] of partitions.entries()) {
    for (const [offset, { id }] of log.entries()) {
      if (effects.has(id)) continue
      if (offset >= committed) mayCome.add(id)
      placeOf.set(id, `${number}@${offset}`)
    }
  }
  return [...placeOf]
    .filter(([id]) => !mayCome.has(id))
    .map(([id, place]) => ({ law: 'nothing-lost', detail: `${id} at ${place} has no effect` }))
}

function double(effects: readonly Effect[]): Violation {
  return { law: 'no-double-effect', detail: told(effects) }
}

/**
 * A lease allows a second effect only where the process of either was killed or frozen, for longer than a lease, while it
 * handled the message: between the begin of the handler and the mark.
 */
function unexplained(effects: readonly Effect[], { harms, leaseMs }: Evidence): Violation[] {
  const isExplained = effects.every((effect, index) => {
    const before = effects[index - 1]
    return before === undefined || [before, effect].some((run) => harms.some((harm) => hits(harm, run, leaseMs)))
  })
  return isExplained ? [] : [{ law: 'no-unexplained-double-effect', detail: told(effects) }]
}

function hits(harm: ProcessHarm, run: Effect, leaseMs: number): boolean {
  if (harm.process !== run.process || harm.to - harm.from < leaseMs) return false
  return harm.from <= run.at + MARKED_WITHIN_MS && harm.to >= run.begunAt
}

/** All below an offset that the coordinator took had its effect by then. */
function committedPast(number: number, { log, commits }: PartitionEvidence, effects: EffectsById): Violation[] {
  const allDoneAt: number[] = []
  let latest = Number.NEGATIVE_INFINITY
  let slowest = 0
  const slowestBelow: number[] = []
  for (const [offset, { id }] of log.entries()) {
    const doneAt = effects.get(id)?.[0]?.at ?? Number.POSITIVE_INFINITY
    if (doneAt > latest) [latest, slowest] = [doneAt, offset]
    allDoneAt.push(latest)
    slowestBelow.push(slowest)
  }
  return commits.flatMap(({ offset, at }): Violation[] => {
    if (offset <= 0) return []
    const law = 'never-committed-past-unfinished-work'
    if (offset > log.length) {
      return [{ law, detail: `${number}@${offset} was committed, the partition ends at ${log.length}` }]
    }
    const doneAt = allDoneAt[offset - 1] ?? Number.POSITIVE_INFINITY
    if (doneAt < at + 1) return []
    const which = slowestBelow[offset - 1] ?? 0
    const late = doneAt === Number.POSITIVE_INFINITY ? 'never had its effect' : `had its effect ${doneAt - at} ms later`
    return [{ law, detail: `${number}@${offset} was committed at ${at}, ${log[which]?.id} at ${which} ${late}` }]
  })
}

/**
 * kafkajs itself commits negative offsets, and a process that reads one of these begins anew: what follows one says
 * nothing about what was before it.
 */
function lowered(number: number, { commits }: PartitionEvidence): Violation[] {
  let highest = 0
  return commits.flatMap(({ offset, at }): Violation[] => {
    const before = highest
    highest = offset < 0 ? 0 : Math.max(highest, offset)
    if (offset < 0 || offset >= before) return []
    return [{ law: 'offset-never-lowered', detail: `partition ${number} from ${before} to ${offset} at ${at}` }]
  })
}

function leftOver(number: number, { log, committed }: PartitionEvidence, effects: EffectsById): Violation[] {
  if (committed === log.length || (log.length === 0 && committed < 0)) return []
  const without = log.slice(Math.max(0, committed)).filter(({ id }) => !effects.has(id)).length
  const rest = `${without} of the rest have no effect`
  const detail = `partition ${number} ends at ${log.length}, committed is ${committed}, ${rest}`
  return [{ law: 'all-committed-at-the-end', detail }]
}

/** First effects of a key follow the order of its messages. */
function overtaken(number: number, { log }: PartitionEvidence, effects: EffectsById): Violation[] {
  const latest = new Map<string, { readonly id: string; readonly at: number }>()
  const seen = new Set<string>()
  return log.flatMap(({ id, key }): Violation[] => {
    const at = effects.get(id)?.[0]?.at
    if (at === undefined || seen.has(id)) return []
    seen.add(id)
    const before = latest.get(key)
    if (before !== undefined && at < before.at) {
      const detail = `partition ${number}, key ${key}: ${id} came ${before.at - at} ms before ${before.id}`
      return [{ law: 'keys-in-order', detail }]
    }
    latest.set(key, { id, at })
    return []
  })
}

function told(effects: readonly Effect[]): string {
  const runs = effects.map(({ process, begunAt, at }) => `${process} from ${begunAt} to ${at}`)
  return `${effects[0]?.id}: ${runs.join(', ')}`
}
