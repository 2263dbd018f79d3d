import type { Message } from '../../src/index.ts'
import type { KafkaOptions } from './options.ts'
import { isTopicName } from './topic-name.ts'

/** A topic that copies go to. */
export interface CopyPlace {
  readonly kind: 'dead-letter'
  readonly topic: string
  /** Whose messages go there. */
  readonly sources: readonly string[]
}

type Route = Pick<Message, 'origin' | 'destination'>

/** Which topics a group consumes, and where the copies of their messages go. */
export class Topology {
  /** What the user named. */
  readonly sources: readonly string[]
  readonly places: readonly CopyPlace[]

  constructor(sources: readonly string[], places: readonly CopyPlace[]) {
    this.sources = sources
    this.places = places
  }

  /** All that the group consumes. */
  get subscribed(): readonly string[] {
    return this.sources
  }

  deadLetterPlace(message: Route): CopyPlace {
    return this.#find('dead-letter', this.#homeOf(message))
  }

  /**
   * By the origin only where this group consumes that too: a header that anybody can set must not name new topics, and the
   * dead letters of a topic that this group consumes instead of its origin must not come back to it.
   */
  #homeOf({ origin, destination }: Route): string {
    return this.sources.includes(origin) ? origin : destination
  }

  #find(kind: CopyPlace['kind'], home: string): CopyPlace {
    const place = this.places.find((one) => one.kind === kind && one.sources.includes(home))
    if (place === undefined) throw new TypeError(`${home} is none of this group's topics (topology.find)`)
    return place
  }
}

/** Adds to `problems` what cannot work, above all topics that would lead back to themselves. */
export function resolveTopology(options: KafkaOptions, problems: string[]): Topology {
  const named = Array.isArray(options.topics) ? [...new Set<unknown>(options.topics)] : []
  if (named.length === 0) problems.push('topics: expected at least one, got none')
  for (const topic of named) {
    if (!isTopicName(topic)) problems.push(`topics: expected names of topics, got ${JSON.stringify(topic)}`)
  }
  const sources = named.filter(isTopicName)
  const places = deadLetterPlaces(options, sources, problems)
  for (const place of places) {
    if (!sources.includes(place.topic)) continue
    problems.push(
      `topics: expected none of the dead-letter topics, got ${place.topic}, where dead letters of ${place.sources.join(', ')} go: they would be consumed again for ever`,
    )
  }
  return new Topology(sources, places)
}

function deadLetterPlaces(options: KafkaOptions, sources: readonly string[], problems: string[]): CopyPlace[] {
  const { deadLetterTopic = (topic: string): string => `${topic}.dead-letter` } = options
  const sourcesOf = new Map<string, string[]>()
  for (const source of sources) {
    const topic = typeof deadLetterTopic === 'function' ? deadLetterTopic(source) : deadLetterTopic
    if (isTopicName(topic)) sourcesOf.set(topic, [...(sourcesOf.get(topic) ?? []), source])
    else problems.push(`deadLetterTopic: expected the name of a topic for ${source}, got ${JSON.stringify(topic)}`)
  }
  return [...sourcesOf].map(([topic, from]) => ({ kind: 'dead-letter', topic, sources: from }))
}
