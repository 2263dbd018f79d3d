import {
  isTopicName,
  listOf,
  millis,
  needed,
  object,
  promiseRefused,
  stageAfter,
  stageFor,
  type DurationMs,
  type Message,
  type RetryCopy,
  type Rule,
  type Table,
} from '../../../src/internal.ts'
import { TOPIC } from './dead-letter.ts'
import type { KafkaOptions, KafkaRetryTopic } from './options.ts'

/** A topic for copies. */
export interface CopyPlace {
  readonly kind: 'dead-letter' | 'retry'
  readonly topic: string
  /** The topics whose messages go there. */
  readonly sources: readonly string[]
  /** From the failure to the next attempt; 0 for a dead-letter topic. */
  readonly delayMs: DurationMs
}

/** The topics of one entry of `retry.topics`: there are several if its name is a function. */
interface RetryStage {
  readonly delayMs: DurationMs
  readonly places: readonly CopyPlace[]
}

type Route = Pick<Message, 'origin' | 'destination'>

/** The topics that a group consumes, and the places for copies of their messages. */
export class Topology {
  /** The option `topics`. */
  readonly sources: readonly string[]
  readonly places: readonly CopyPlace[]
  /** All topics that the group consumes, including retry topics. */
  readonly subscribed: readonly string[]
  readonly #deadLetters: readonly CopyPlace[]
  readonly #stages: readonly RetryStage[]

  constructor(sources: readonly string[], deadLetters: readonly CopyPlace[], stages: readonly RetryStage[] = []) {
    this.sources = sources
    this.#deadLetters = deadLetters
    this.#stages = stages
    const retries = stages.flatMap(({ places }) => places)
    this.places = [...deadLetters, ...retries]
    this.subscribed = [...sources, ...retries.map(({ topic }) => topic)]
  }

  deadLetterPlace(message: Route): CopyPlace {
    return this.#for(message, this.#deadLetters)
  }

  /** Call it only if `retryDelayMs` returns a delay. */
  retryPlace(copy: RetryCopy): CopyPlace {
    return this.#for(copy.message, stageFor(this.#stages, copy).places)
  }

  /**
   * The origin of a message on a topic, of which its headers name another. On a topic of `topics` they may not name
   * another of these: who may publish to the one could pass a message off as one of the other, whose ACL refuses them.
   */
  originOf(destination: string, named: string): string {
    const { sources } = this
    return sources.includes(destination) && sources.includes(named) ? destination : named // mutant: kafka-forged-origin-believed
  }

  /** `undefined`: there are no retry topics. */
  retryDelayMs(attempts: number): DurationMs | undefined {
    return stageAfter(this.#stages, attempts)?.delayMs
  }

  #for(message: Route, places: readonly CopyPlace[]): CopyPlace {
    const home = this.#homeOf(message)
    const place = places.find(({ sources }) => sources.includes(home))
    if (place === undefined) throw new TypeError(`${home} is none of this group's topics (topology.for)`)
    return place
  }

  /**
   * The origin counts only if this group consumes it: a header that anybody can set must not choose topics, and dead
   * dead letters of a topic that the group consumes instead of the origin must not come back to it.
   */
  #homeOf({ origin, destination }: Route): string {
    const { sources, places } = this
    if (sources.includes(origin)) return origin
    if (sources.includes(destination)) return destination
    const retry = places.find(({ kind, topic }) => kind === 'retry' && topic === destination)
    return retry?.sources[0] ?? destination
  }
}

const RETRY_TOPIC: Table<KafkaRetryTopic, 'topic'> = { delayMs: needed(millis()), topic: TOPIC }

export const RETRY: Rule<NonNullable<KafkaOptions['retry']>> = object<NonNullable<KafkaOptions['retry']>, never>({
  topics: needed(listOf(object(RETRY_TOPIC), { least: 1, what: 'retry topics' })),
})

/** Adds a problem for each setting that cannot work, such as a topic that would lead back to itself. */
export function resolveTopology(
  {
    topics,
    group,
    retry,
    deadLetter,
  }: Pick<KafkaOptions, 'topics' | 'group' | 'deadLetter'> & { retry: KafkaOptions['retry'] | undefined },
  problems: string[],
): Topology {
  const sources = [...new Set(topics)]
  const place = { kind: 'dead-letter', delayMs: 0, option: 'deadLetter.topic' } as const
  const deadLetters = placesOf(sources, deadLetter?.topic ?? '', place, problems)
  const stages = (retry?.topics ?? []).map(({ delayMs, topic }, index) => {
    const byDefault = (origin: string): string => `${origin}.${group}.retry-${index + 1}`
    const option = `retry.topics[${index}].topic`
    return { delayMs, places: placesOf(sources, topic ?? byDefault, { kind: 'retry', delayMs, option }, problems) }
  })
  const topology = new Topology(sources, deadLetters, stages)
  problems.push(...circles(topology))
  return topology
}

export const NAME_AT_ONCE = 'return the name of the topic'

function placesOf(
  sources: readonly string[],
  name: string | ((source: string) => string),
  { kind, delayMs, option }: Pick<CopyPlace, 'kind' | 'delayMs'> & { readonly option: string },
  problems: string[],
): CopyPlace[] {
  const sourcesOf = new Map<string, string[]>()
  for (const source of sources) {
    const topic = typeof name === 'function' ? name(source) : name
    const refused = promiseRefused(option, topic, NAME_AT_ONCE)
    if (refused !== undefined) problems.push(refused)
    else if (isTopicName(topic)) sourcesOf.set(topic, [...(sourcesOf.get(topic) ?? []), source])
    else problems.push(`${option}: expected the name of a topic for ${source}, got ${JSON.stringify(topic)}`)
  }
  return [...sourcesOf].map(([topic, from]) => ({ kind, topic, sources: from, delayMs }))
}

function circles({ sources, places }: Topology): string[] {
  const retries = places.filter(({ kind }) => kind === 'retry').map(({ topic }) => topic)
  const twice = retries.filter((topic, index) => retries.indexOf(topic) < index)
  return [
    ...twice.map(
      (topic) =>
        `retry.topics: expected each topic once, got ${topic} twice: what waits longer would hold up what is due. The last one is used again by itself`,
    ),
    ...places.flatMap(({ kind, topic, sources: from }) => {
      const isConsumed = sources.includes(topic) || (kind === 'dead-letter' && retries.includes(topic))
      if (!isConsumed) return []
      return kind === 'dead-letter'
        ? `topics: expected none of the dead-letter topics, got ${topic}, where dead letters of ${from.join(', ')} go: they would be consumed again for ever`
        : `retry.topics: expected none of the topics to consume, got ${topic}, where messages of ${from.join(', ')} wait: those that were never tried would wait too`
    }),
  ]
}
