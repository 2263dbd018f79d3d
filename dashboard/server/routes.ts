import type { Api } from '../api.ts'
import { audit, doctor, guarantees, positions, settings } from './routes/checkups.ts'
import { look, redriveFound } from './routes/dead-letters.ts'
import { decide, preview } from './routes/decisions.ts'
import { find } from './routes/find.ts'
import { message } from './routes/message.ts'
import { counts, groups, records } from './routes/records.ts'
import { pauseConsumer, resumeConsumer } from './routes/pausing.ts'
import { abort, list, one, pause, plan, report, start } from './routes/replays.ts'
import { job, jobs, live, session, stopJob } from './routes/session.ts'
import type { Asked, Services } from './services.ts'

export interface Route {
  /** Tokens of `RateLimit`: 1 is cheap, 10 may make a server work for a second. */
  readonly cost: number
  /** Refused with 405 while read-only. */
  readonly changes: boolean
  run(services: Services, asked: Asked): unknown
}

type AnswerOf<Name extends keyof Api> = [Api[Name]['answer']] extends [never] ? Response : Api[Name]['answer']

type Table = {
  readonly [Name in keyof Api]: {
    readonly cost: number
    readonly changes?: true
    run(services: Services, asked: Asked): AnswerOf<Name> | Promise<AnswerOf<Name>>
  }
}

const TABLE: Table = {
  'GET api/session': { cost: 1, run: session },
  'GET api/live': { cost: 1, run: live },
  'GET api/counts': { cost: 2, run: counts },
  'GET api/records': { cost: 4, run: records },
  'GET api/groups': { cost: 5, run: groups },
  'GET api/find': { cost: 10, run: find },
  'GET api/message': { cost: 6, run: message },
  'GET api/audit': { cost: 4, run: audit },
  'GET api/doctor': { cost: 10, run: doctor },
  'GET api/guarantees': { cost: 10, run: guarantees },
  'GET api/settings': { cost: 4, run: settings },
  'GET api/positions': { cost: 4, run: positions },
  'GET api/replays': { cost: 3, run: list },
  'GET api/replay': { cost: 3, run: one },
  'GET api/replay/report': { cost: 20, run: report },
  'GET api/jobs': { cost: 1, run: jobs },
  'GET api/job': { cost: 1, run: job },
  'POST api/consumers/pause': { cost: 5, changes: true, run: pauseConsumer },
  'POST api/consumers/resume': { cost: 5, changes: true, run: resumeConsumer },
  'POST api/decisions/preview': { cost: 10, changes: true, run: preview },
  'POST api/decisions': { cost: 10, changes: true, run: decide },
  // These two say themselves what they refuse while read-only: reading a queue changes it, reading a log does not.
  'POST api/dead-letters/look': { cost: 20, run: look },
  'POST api/plans': { cost: 20, run: plan },
  'POST api/dead-letters/redrive': { cost: 20, changes: true, run: redriveFound },
  'POST api/replays/start': { cost: 20, changes: true, run: start },
  'POST api/replays/pause': { cost: 5, changes: true, run: pause },
  'POST api/replays/abort': { cost: 5, changes: true, run: abort },
  'POST api/job/stop': { cost: 2, run: stopJob },
}

export const ROUTES: ReadonlyMap<string, Route> = new Map(
  Object.entries(TABLE).map(([name, route]) => [name, { changes: false, ...route }]),
)
