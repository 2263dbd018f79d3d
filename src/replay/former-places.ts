import type { ResolvedConsumer } from '../consumer/resolve-options.ts'
import type { Subscription } from '../ports/subscription.ts'
import { hasCode } from '../foundation/errors.ts'
import type { ReplayedConsumer } from './place.ts'

type Renamed = Pick<ResolvedConsumer, 'scope'>

/** The present names of its topics, or of its queue, by the former ones in its `scope`. A topic that it still reads is no former one. */
export function presentNames({ scope }: Renamed, { group, origins }: Subscription): ReadonlyMap<string, string> {
  if (typeof scope !== 'object') return new Map()
  const { queue, topics = {} } = scope
  const renamed = queue === undefined ? Object.entries(topics) : [[group, queue] as const]
  return new Map(
    renamed
      .filter(([present, former]) => origins.includes(present) && !origins.includes(former))
      .map(([present, former]) => [former, present]),
  )
}

/** Where its dead letters went before a rename, if their place had its name from the topic or the queue. It may not exist. */
export function formerDeadLetterPlaces(consumer: Renamed, subscription: Subscription): readonly string[] {
  const { replay } = subscription
  if (replay === undefined) return []
  const { system, deadLetters } = replay
  const places = [...presentNames(consumer, subscription)].flatMap(([former, present]) =>
    deadLetters
      .filter((place) => place.startsWith(`${present}.`))
      .map((place) => `${former}${place.slice(present.length)}`),
  )
  return [...new Set(places)].filter((place) => !deadLetters.includes(place)).map((place) => `${system}:${place}`)
}

/** Those of them that exist. */
export async function existingFormerPlaces(of: ReplayedConsumer): Promise<readonly string[]> {
  const existing: string[] = []
  for (const place of formerDeadLetterPlaces(of.definition, of.subscription)) {
    try {
      const reader = await of.open(place, [])
      await reader.close()
      existing.push(place)
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }
  return existing
}

/** A place that does not exist, or that this user may not see. */
export function isMissing(error: unknown): boolean {
  return hasCode(error, 'CONFIG_INVALID')
}
