import type { Api } from '../api.ts'
import { doctor, guarantees, positions, settings } from './routes/checkups.ts'
import { audit } from './routes/audit.ts'
import { look, redriveFound } from './routes/dead-letters.ts'
import { decide, preview } from './routes/decisions.ts'
import { find } from './routes/find.ts'
import { message } from './routes/message.ts'
import { outbox, outboxes, redriveRefused } from './routes/outbox.ts'
import { counts, groups, records } from './routes/records.ts'
import { pauseConsumer, resumeConsumer } from './routes/pausing.ts'
import { searchMessages } from './routes/search.ts'
import { abort, list, one, pause, plan, report, start } from './routes/replays.ts'
import { job, jobs, live, session, stopJob } from './routes/session.ts'
import type { Asked, Services } from './services.ts'

export interface Route {
  /** Tokens of `RateLimit`: 1 is cheap, 10 may make a server work for a second. */
  readonly cost: number
  /** Refused with 405 while read-only. */
  readonly changes: boolean
  /** The names that a request may have: another one may be a limit that is misspelt. */
  readonly fields: Readonly<Record<string, true>>
  run(services: Services, asked: Asked): unknown
}

type AnswerOf<Name extends keyof Api> = [Api[Name]['answer']] extends [never] ? Response : Api[Name]['answer']

type RequestOf<Name extends keyof Api> = Api[Name] extends { readonly body: infer Body }
  ? Body
  : Api[Name] extends { readonly query: infer Query }
    ? Query
    : never

type Table = {
  readonly [Name in keyof Api]: {
    readonly fields: Readonly<Record<keyof RequestOf<Name>, true>>
    readonly cost: number
    readonly changes?: true
    run(services: Services, asked: Asked): AnswerOf<Name> | Promise<AnswerOf<Name>>
  }
}

const NONE = {} as const
const ONE = { consumer: true } as const
const PLAN = {
  ...ONE,
  from: true,
  since: true,
  until: true,
  fromPosition: true,
  toPosition: true,
  ids: true,
  where: true,
  reasons: true,
  include: true,
  max: true,
  groupBy: true,
  rules: true,
} as const
const LOOK = {
  ...ONE,
  id: true,
  key: true,
  since: true,
  until: true,
  where: true,
  reasons: true,
  include: true,
  max: true,
} as const
const SEARCH = {
  consumers: true,
  text: true,
  where: true,
  keys: true,
  topics: true,
  since: true,
  until: true,
  max: true,
} as const
const START = {
  ...ONE,
  plan: true,
  resume: true,
  reason: true,
  confirm: true,
  rate: true,
  concurrency: true,
  canary: true,
  stopOnFailures: true,
  quietHours: true,
  unknown: true,
} as const

const TABLE: Table = {
  'GET api/session': { fields: NONE, cost: 1, run: session },
  'GET api/live': { fields: NONE, cost: 1, run: live },
  'GET api/counts': { fields: NONE, cost: 2, run: counts },
  'GET api/records': {
    fields: { ...ONE, state: true, reason: true, text: true, before: true, id: true, limit: true, after: true },
    cost: 4,
    run: records,
  },
  'GET api/groups': { fields: { ...ONE, state: true }, cost: 5, run: groups },
  'GET api/find': { fields: { id: true }, cost: 10, run: find },
  'GET api/message': { fields: { ...ONE, id: true, key: true, at: true, origin: true }, cost: 6, run: message },
  'GET api/audit': {
    fields: { ...ONE, key: true, by: true, decision: true, since: true, until: true, limit: true, after: true },
    cost: 4,
    run: audit,
  },
  'GET api/doctor': { fields: ONE, cost: 10, run: doctor },
  'GET api/guarantees': { fields: NONE, cost: 10, run: guarantees },
  'GET api/settings': { fields: ONE, cost: 4, run: settings },
  'GET api/positions': { fields: ONE, cost: 4, run: positions },
  'GET api/outbox': { fields: ONE, cost: 4, run: outbox },
  'GET api/outboxes': { fields: NONE, cost: 2, run: outboxes },
  'GET api/replays': { fields: ONE, cost: 3, run: list },
  'GET api/replay': { fields: { ...ONE, id: true }, cost: 3, run: one },
  'GET api/replay/report': { fields: { ...ONE, id: true, format: true }, cost: 20, run: report },
  'GET api/jobs': { fields: NONE, cost: 1, run: jobs },
  'GET api/job': { fields: { id: true }, cost: 1, run: job },
  'POST api/consumers/pause': { fields: { ...ONE, reason: true }, cost: 5, changes: true, run: pauseConsumer },
  'POST api/consumers/resume': { fields: { ...ONE, reason: true }, cost: 5, changes: true, run: resumeConsumer },
  'POST api/decisions/preview': {
    fields: { ...ONE, decision: true, keys: true, matching: true },
    cost: 10,
    changes: true,
    run: preview,
  },
  'POST api/decisions': {
    fields: { ...ONE, token: true, reason: true, confirm: true },
    cost: 10,
    changes: true,
    run: decide,
  },
  // These three say themselves what they refuse while read-only: reading a queue changes it, reading a log does not.
  'POST api/dead-letters/look': { fields: LOOK, cost: 20, run: look },
  'POST api/search': { fields: SEARCH, cost: 20, run: searchMessages },
  'POST api/plans': { fields: PLAN, cost: 20, run: plan },
  'POST api/dead-letters/redrive': {
    fields: { ...ONE, look: true, reason: true, confirm: true, rate: true },
    cost: 20,
    changes: true,
    run: redriveFound,
  },
  'POST api/outbox/redrive': {
    fields: { ...ONE, ids: true, reason: true, confirm: true },
    cost: 10,
    changes: true,
    run: redriveRefused,
  },
  'POST api/replays/start': { fields: START, cost: 20, changes: true, run: start },
  'POST api/replays/pause': { fields: { ...ONE, id: true, reason: true }, cost: 5, changes: true, run: pause },
  'POST api/replays/abort': { fields: { ...ONE, id: true, reason: true }, cost: 5, changes: true, run: abort },
  'POST api/job/stop': { fields: { id: true }, cost: 2, run: stopJob },
}

export const ROUTES: ReadonlyMap<string, Route> = new Map(
  Object.entries(TABLE).map(([name, route]) => [name, { changes: false, ...route }]),
)
