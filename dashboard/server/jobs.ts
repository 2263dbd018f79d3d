import { randomBytes } from 'node:crypto'
import type { Clock } from '../../src/ports/clock.ts'
import type { Job } from '../../src/replay/job.ts'
import type { JobInfo, JobKind } from '../api.ts'
import { apiErrorOf, HttpError } from './http-error.ts'

const MOST_RUNNING = 4
const MOST_KEPT = 50
const KEPT_FOR_MS = 3_600_000

type InfoOf<Kind extends JobKind> = Extract<JobInfo, { readonly kind: Kind }>
type ProgressOf<Kind extends JobKind> = NonNullable<InfoOf<Kind>['progress']>
type ResultOf<Kind extends JobKind> = NonNullable<InfoOf<Kind>['result']>

export interface JobStart<Kind extends JobKind, Progress, Result> {
  readonly kind: Kind
  readonly consumer: string
  readonly by: string
  readonly job: () => Job<Progress, Result>
  readonly progressOf: (progress: Progress) => ProgressOf<Kind>
  readonly resultOf: (result: Result) => ResultOf<Kind>
}

interface Kept {
  info: JobInfo
  readonly endsAt: () => number | undefined
  readonly stop: () => void
  readonly ended: Promise<void>
}

/** Work that takes longer than a request: it goes on when the page is closed. */
export class Jobs {
  readonly #clock: Clock
  readonly #jobs = new Map<string, Kept>()
  #isClosed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  list(): readonly JobInfo[] {
    this.#dropOld()
    return [...this.#jobs.values()].map(({ info }) => info).toReversed()
  }

  /** @throws HttpError 404 */
  get(id: string): JobInfo {
    return this.#of(id).info
  }

  /** @throws HttpError 409 if too many run */
  start<Kind extends JobKind, Progress, Result>(how: JobStart<Kind, Progress, Result>): JobInfo {
    this.#dropOld()
    const running = this.list().filter(({ state }) => state === 'running').length
    if (this.#isClosed) throw new HttpError(409, 'HTTP_BUSY', 'this dashboard ends: it begins no further job')
    if (running >= MOST_RUNNING) {
      throw new HttpError(409, 'HTTP_BUSY', `${running} jobs run: wait until one has ended, or stop one`)
    }
    const { kind, consumer, by } = how
    const begun = {
      id: randomBytes(9).toString('base64url'),
      kind,
      consumer,
      by,
      startedAt: this.#clock.now(),
      endedAt: undefined,
      state: 'running',
      error: undefined,
      progress: undefined,
      result: undefined,
    } as const
    const job = how.job()
    let endedAt: number | undefined
    const kept: Kept = {
      info: begun as unknown as JobInfo,
      stop: () => job.stop(),
      endsAt: () => endedAt,
      ended: this.#follow(job, how, (changed) => {
        kept.info = { ...kept.info, ...changed }
        if (changed.state !== undefined) endedAt = this.#clock.monotonic()
      }),
    }
    this.#jobs.set(begun.id, kept)
    return kept.info
  }

  /** Resolves when it has ended: a replay is then paused. @throws HttpError 404 */
  async stop(id: string): Promise<JobInfo> {
    const kept = this.#of(id)
    kept.stop()
    await kept.ended
    return kept.info
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#jobs.keys()].map((id) => this.stop(id)))
  }

  async #follow<Kind extends JobKind, Progress, Result>(
    job: Job<Progress, Result>,
    { progressOf, resultOf }: JobStart<Kind, Progress, Result>,
    change: (changed: { readonly state?: 'finished' | 'failed' } & Readonly<Record<string, unknown>>) => void,
  ): Promise<void> {
    // Not in this turn: the job must be known before it changes.
    await Promise.resolve()
    try {
      for await (const progress of job) change({ progress: progressOf(progress) })
      change({ result: resultOf(await job.result), state: 'finished', endedAt: this.#clock.now() })
    } catch (error) {
      change({ error: apiErrorOf(error), state: 'failed', endedAt: this.#clock.now() })
    }
  }

  #of(id: string): Kept {
    const kept = this.#jobs.get(id)
    if (kept !== undefined) return kept
    throw new HttpError(404, 'HTTP_NOT_FOUND', 'no such job: it is over, or the server was restarted')
  }

  #dropOld(): void {
    const now = this.#clock.monotonic()
    for (const [id, { endsAt }] of this.#jobs) {
      const endedAt = endsAt()
      if (endedAt === undefined) continue
      if (this.#jobs.size > MOST_KEPT || now - endedAt > KEPT_FOR_MS) this.#jobs.delete(id)
    }
  }
}
