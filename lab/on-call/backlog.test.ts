// Each cause of a backlog, made on live servers, is told from the others by what the page has typed and read.
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { eventually } from '../../test/kit/eventually.ts'
import type { Deployed } from './consumer.ts'
import { causeIn, samplesIn, type Cause } from './diagnosis.ts'
import { runbookOf } from './runbook.ts'
import { Scene } from './scene.ts'

jest.setTimeout(300_000)

let scene: Scene
beforeAll(async () => {
  scene = await Scene.open('inbox', { partitions: 3, secondsAMinute: 2 })
}, 120_000)
afterAll(() => scene[Symbol.asyncDispose](), 60_000)

interface Case {
  readonly cause: Cause
  readonly version: Partial<Deployed>
  /** In what health says. @defaultValue that it is ready */
  readonly says?: string
  readonly keyOf?: (id: string) => string
  /** What is done to the database meanwhile, and what ends it. */
  readonly database?: readonly [begin: string, end: string]
}

const FEW: NonNullable<Deployed['settings']> = { transactions: 4, maxInFlight: 40 }
const SLOW_CLAIMS = `
  create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.2); return new; end $$;
  create trigger slow before insert or update on consume_once.inbox for each row execute function slow()`

const CASES: readonly Case[] = [
  { cause: 'not ready', version: { isPaused: true }, says: 'paused by kim: the provider is being mended, OPS-812' },
  { cause: 'limit', version: { settings: { limit: { perSecond: 10 } } } },
  { cause: 'retries', version: { takesBadOnes: false, settings: { ...FEW, maxAttempts: 20 } } },
  {
    cause: 'store',
    version: { handlerMs: 50, settings: FEW },
    database: [SLOW_CLAIMS, 'drop trigger slow on consume_once.inbox; drop function slow'],
  },
  { cause: 'handler', version: { handlerMs: 500, settings: FEW } },
  { cause: 'one key', version: { handlerMs: 50, settings: FEW }, keyOf: () => 'hot' },
  { cause: 'partitions', version: { handlerMs: 50, settings: FEW, order: 'partition' } },
]

/** One reading may be of the moments before the messages came. */
const SAME_READINGS = 3

describe('a backlog because of', () => {
  const { commands } = runbookOf('The backlog grows')
  let sent = 0

  it.each(CASES)('$cause', async ({ cause, version, says = '"ready":true', keyOf, database }) => {
    await scene.deploy(version)
    const ids = Array.from({ length: 1_000 }, (_, at) => `${at % 2 === 0 ? 'bad' : 'good'}-${sent + at}`)
    sent += ids.length
    if (database !== undefined) await scene.query(database[0])
    await scene.send(ids, keyOf)
    let said: readonly string[] = []
    let same = 0
    const isTold = async (): Promise<boolean> => {
      const [health = '', ...measured] = (said = await scene.typed(commands))
      const isSo = health.includes(says) && causeIn(health, measured.map(samplesIn)) === cause
      same = isSo ? same + 1 : 0
      return same === SAME_READINGS
    }
    await eventually(isTold, 60_000).finally(() => console.log([cause, ...said].join('\n')))
    expect(said[0]).toContain(says)
    if (database !== undefined) await scene.query(database[1])
    await scene.deploy({ settings: { transactions: 16 } })
    await eventually(async () => (await scene.effects()).length === sent, 120_000)
  })
})
