import { countDoubles, effectsById, judgeDoubles, type EffectsById, type EffectsLaw } from '../judge-effects.ts'
import type { Verdict, Violation } from '../verdict.ts'
import type { Evidence, LoggedMessage, PartitionEvidence } from './evidence.ts'

type Law =
  | EffectsLaw
  | 'sent-is-in-the-log'
  | 'aborted-never-handled'
  | 'nothing-lost'
  | 'never-committed-past-unfinished-work'
  | 'offset-never-lowered'
  | 'all-committed-at-the-end'
  | 'no-dead-letter'
  | 'keys-in-order'

/** Compares the state of the servers with what was sent. Uses nothing that a worker reported. */
export function judge(evidence: Evidence): Verdict<Law> {
  const effects = effectsById(evidence.effects)
  const logged = messagesOf(evidence.partitions)
  const ids = new Set(logged.map(({ id }) => id))
  const inUnclean = messagesOf(evidence.unclean.partitions)
  const uncleanIds = new Set(inUnclean.map(({ id }) => id))
  const commits = evidence.partitions.flatMap((partition) => partition.commits)
  const withoutEffect = idsWithoutEffect(evidence, effects)
  const partitions = evidence.partitions.map((partition) => without(withoutEffect, partition))
  const violations: Violation<Law>[] = [
    ...notInTheLog(evidence, ids),
    ...abortedHandled(evidence, effects),
    ...lost(partitions, effects),
    ...lost(evidence.unclean.partitions, effects),
    ...judgeDoubles(effects, evidence),
    ...partitions.flatMap((partition, number) => [
      ...committedPast(number, partition, effects),
      ...lowered(number, partition),
      ...leftOver(`partition ${number}`, partition, effects),
      ...overtaken(number, partition, effects),
    ]),
    // A log that was cut off is read anew, so offsets fall, and what was committed is no more.
    ...evidence.unclean.partitions.flatMap((partition, number) =>
      leftOver(`unclean partition ${number}`, partition, effects),
    ),
  ]
  if (evidence.deadLetters > 0) {
    violations.push({ law: 'no-dead-letter', detail: `${evidence.deadLetters} in the dead-letter topic` })
  }
  return {
    violations,
    figures: {
      // In the topic, with those sent twice.
      messages: logged.length + inUnclean.length,
      ids: ids.size,
      effects: evidence.effects.length,
      doubles: countDoubles(effects),
      commits: commits.length,
      abortedMessages: evidence.transactions.reduce(
        (sum, { fate, ids: own }) => sum + (fate === 'aborted' ? own.length : 0),
        0,
      ),
      // By unclean elections.
      cutOff: [...evidence.unclean.acknowledged].filter((id) => !uncleanIds.has(id)).length,
      // Negative offsets, which kafkajs itself commits.
      resetsByKafkajs: commits.filter(({ offset }) => offset < 0).length,
    },
  }
}

function messagesOf(partitions: readonly PartitionEvidence[]): readonly LoggedMessage[] {
  return partitions.flatMap(({ log }) => log).filter((message) => message !== undefined)
}

/** Of aborted transactions, and of those of which nobody knows and nothing was handled. */
function idsWithoutEffect({ transactions }: Evidence, effects: EffectsById): ReadonlySet<string> {
  const none = transactions.filter(({ fate, ids }) => {
    return fate === 'aborted' || (fate === 'unknown' && !ids.some((id) => effects.has(id)))
  })
  return new Set(none.flatMap(({ ids }) => ids))
}

function without(ids: ReadonlySet<string>, partition: PartitionEvidence): PartitionEvidence {
  return {
    ...partition,
    log: partition.log.map((message) => (message !== undefined && ids.has(message.id) ? undefined : message)),
  }
}

function abortedHandled({ transactions }: Evidence, effects: EffectsById): Violation<Law>[] {
  return transactions
    .filter(({ fate }) => fate === 'aborted')
    .flatMap(({ ids }) => ids.filter((id) => effects.has(id)))
    .map((id) => ({ law: 'aborted-never-handled', detail: `${id} of an aborted transaction had an effect` }))
}

function notInTheLog({ acknowledged, transactions }: Evidence, ids: ReadonlySet<string>): Violation<Law>[] {
  const committed = transactions.filter(({ fate }) => fate === 'committed').flatMap((one) => one.ids)
  return [...acknowledged, ...committed]
    .filter((id) => !ids.has(id))
    .map((id) => ({ law: 'sent-is-in-the-log', detail: `${id} was acknowledged` }))
}

/** The broker will not deliver it again: all its copies are below the committed offset. Messages above it are left over. */
function lost(partitions: readonly PartitionEvidence[], effects: EffectsById): Violation<Law>[] {
  const placeOf = new Map<string, string>()
  const mayCome = new Set<string>()
  for (const [number, { log, committed }] of partitions.entries()) {
    for (const [offset, message] of log.entries()) {
      if (message === undefined || effects.has(message.id)) continue
      const { id } = message
      if (offset >= committed) mayCome.add(id)
      placeOf.set(id, `${number}@${offset}`)
    }
  }
  return [...placeOf]
    .filter(([id]) => !mayCome.has(id))
    .map(([id, place]) => ({ law: 'nothing-lost', detail: `${id} at ${place} has no effect` }))
}

/** All below an offset that the coordinator took had its effect by then. */
function committedPast(number: number, { log, commits }: PartitionEvidence, effects: EffectsById): Violation<Law>[] {
  const allDoneAt: number[] = []
  let latest = Number.NEGATIVE_INFINITY
  let slowest = 0
  const slowestBelow: number[] = []
  for (const [offset, message] of log.entries()) {
    const doneAt = message === undefined ? latest : (effects.get(message.id)?.[0]?.at ?? Number.POSITIVE_INFINITY)
    if (doneAt > latest) [latest, slowest] = [doneAt, offset]
    allDoneAt.push(latest)
    slowestBelow.push(slowest)
  }
  return commits.flatMap(({ offset, at }): Violation<Law>[] => {
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
function lowered(number: number, { commits }: PartitionEvidence): Violation<Law>[] {
  let highest = 0
  return commits.flatMap(({ offset, at }): Violation<Law>[] => {
    const before = highest
    highest = offset < 0 ? 0 : Math.max(highest, offset)
    if (offset < 0 || offset >= before) return []
    return [{ law: 'offset-never-lowered', detail: `partition ${number} from ${before} to ${offset} at ${at}` }]
  })
}

function leftOver(name: string, { log, committed }: PartitionEvidence, effects: EffectsById): Violation<Law>[] {
  if (committed === log.length || (log.length === 0 && committed < 0)) return []
  const rest = log.slice(Math.max(0, committed)).filter((message) => message !== undefined && !effects.has(message.id))
  const detail = `${name} ends at ${log.length}, committed is ${committed}, ${rest.length} of the rest have no effect`
  return [{ law: 'all-committed-at-the-end', detail }]
}

/** First effects of a key follow the order of its messages. */
function overtaken(number: number, { log }: PartitionEvidence, effects: EffectsById): Violation<Law>[] {
  const latest = new Map<string, { readonly id: string; readonly at: number }>()
  const seen = new Set<string>()
  return log.flatMap((message): Violation<Law>[] => {
    if (message === undefined) return []
    const { id, key } = message
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
