import { describeError, isConsumeOnceError } from '../../foundation/errors.ts'
import { withoutSecrets } from '../../foundation/without-secrets.ts'
import { definitionOf } from '../../consumer/define-consumer.ts'
import type { ConfiguredConsumer } from '../../people/config.ts'
import type { Clock } from '../../ports/clock.ts'
import { findMessages, type FindOptions, type Found, type FoundMessage } from './find.ts'
import { formerDeadLetterPlaces, isMissing } from '../former-places.ts'
import { startJob, type Job } from '../job.ts'
import { deadLetterPlaces } from '../place.ts'

/** One place to look through, as one consumer reads it. */
export interface SearchedPlace<Entry extends ConfiguredConsumer = ConfiguredConsumer> {
  readonly entry: Entry
  /** `kafka:sms.dead-letter` */
  readonly from: string
  /** Where its dead letters went before a rename: it may not exist any more. @defaultValue false */
  readonly isFormer?: boolean
}

/** What could not be looked at. */
export interface SearchProblem<Entry> {
  readonly entry: Entry
  readonly code: string
  readonly text: string
}

export interface SearchProgress {
  /** The place that is read now. */
  readonly from: string
  /** Messages of all places so far. */
  readonly looked: number
  readonly found: number
  /** Places that were read to their end. */
  readonly places: number
  readonly ofPlaces: number
}

export interface SearchResult<Entry> {
  /** In the order of the places. */
  readonly messages: readonly { readonly entry: Entry; readonly message: FoundMessage }[]
  readonly looked: readonly (Omit<Found, 'messages'> & { readonly entry: Entry })[]
  readonly problems: readonly SearchProblem<Entry>[]
  /** It was stopped before it had seen all of them. */
  readonly stopped: boolean
}

export type SearchHow = Omit<FindOptions, 'from' | 'now' | 'signal' | 'tell'> & { readonly clock: Clock }

/** Where the dead letters of a consumer lie, and with `topics` its topics: a queue of messages that wait is not looked through. */
export function searchedPlaces<Entry extends ConfiguredConsumer>(
  entry: Entry,
  { topics }: { readonly topics: boolean },
): readonly SearchedPlace<Entry>[] {
  const { replay, origins } = entry.subscription
  const own = topics && replay?.system === 'kafka' ? origins.map((topic) => `kafka:${topic}`) : []
  const former = formerDeadLetterPlaces(definitionOf(entry.consumer), entry.subscription)
  return [
    ...deadLetterPlaces(replay).map((from) => ({ entry, from })),
    ...former.map((from) => ({ entry, from, isFormer: true })),
    ...own.map((from) => ({ entry, from })),
  ]
}

/**
 * Looks through places for messages, one after the other: `findMessages` in each. What fails for one place is told, and the others are
 * looked through. When it is stopped, what was found until then is the result.
 */
export function search<Entry extends ConfiguredConsumer>(
  places: readonly SearchedPlace<Entry>[],
  { clock, ...how }: SearchHow,
): Job<SearchProgress, SearchResult<Entry>> {
  return startJob('the search', async (control) => {
    const { signal } = control
    const messages: SearchResult<Entry>['messages'][number][] = []
    const looked: SearchResult<Entry>['looked'][number][] = []
    const problems: SearchProblem<Entry>[] = []
    const before = { looked: 0, found: 0 }
    for (const [at, { entry, from, isFormer = false }] of places.entries()) {
      if (signal.aborted) break
      const tellOf = (now: { readonly looked: number; readonly found: number }, isOver: boolean): void =>
        control.tell({
          from,
          looked: before.looked + now.looked,
          found: before.found + now.found,
          places: at + (isOver ? 1 : 0),
          ofPlaces: places.length,
        })
      tellOf({ looked: 0, found: 0 }, false)
      try {
        const asked = { ...how, from, now: clock.now(), signal, tell: (now: typeof before) => tellOf(now, false) }
        const { messages: found, ...rest } = await findMessages(entry.consumer, entry.subscription, asked)
        messages.push(...found.map((message) => ({ entry, message })))
        looked.push({ entry, ...rest })
        tellOf({ looked: rest.looked, found: found.length }, true)
        before.looked += rest.looked
        before.found += found.length
      } catch (error) {
        if (!isFormer || !isMissing(error)) problems.push(problemOf(entry, error))
      }
    }
    return { messages, looked, problems, stopped: signal.aborted }
  })
}

/**
 * A client of a store or a broker throws errors of its own where it gets no answer.
 *
 * @throws the error, if it is a mistake of a program
 */
export function problemOf<Entry>(entry: Entry, error: unknown): SearchProblem<Entry> {
  if (!isConsumeOnceError(error) && (error instanceof TypeError || error instanceof RangeError)) throw error
  const code = isConsumeOnceError(error) ? error.code : 'STORE_UNREACHABLE'
  return { entry, code, text: withoutSecrets(describeError(error)) }
}
