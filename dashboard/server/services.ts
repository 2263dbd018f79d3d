import type { Clock } from '../../src/ports/clock.ts'
import type { CountsAnswer, DoctorAnswer, GroupsAnswer, OutboxesAnswer, RecordsAnswer } from '../api.ts'
import type { Cached } from './cached.ts'
import type { Consumers } from './consumers.ts'
import type { Jobs } from './jobs.ts'
import type { LiveSources } from './live-sources.ts'
import type { DashboardOptions, Principal } from './options.ts'
import type { Params } from './params.ts'
import type { Previews } from './previews.ts'

/** What the routes work with. */
export interface Services {
  readonly options: DashboardOptions
  readonly consumers: Consumers
  readonly live: LiveSources
  readonly jobs: Jobs
  readonly previews: Previews
  readonly clock: Clock
  readonly timeoutMs: number
  readonly counts: Cached<CountsAnswer['consumers'][number]>
  /** When the records of a consumer were last counted. */
  readonly countedAt: Map<string, number>
  /** When a person was last shown the payload of a message, by person, consumer and place: the audit has it once an hour. */
  readonly payloadsSeen: Map<string, number>
  readonly groups: Cached<GroupsAnswer>
  readonly lists: Cached<RecordsAnswer>
  readonly outboxes: Cached<OutboxesAnswer['outboxes'][number]>
  readonly doctors: Cached<DoctorAnswer>
  csrfToken(by: string): string
  /** Asks a store or a broker, in bounded time, with bounded concurrency. */
  asking<T>(work: () => Promise<T>): Promise<T>
}

/** One request that was allowed. */
export interface Asked {
  readonly params: Params
  readonly principal: Required<Principal>
}
