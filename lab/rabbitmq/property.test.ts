import { eventually } from '../../test/kit/eventually.ts'
import { expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import * as fc from 'fast-check'
import { startProxyOf, type ProxyOf } from '../../test/kit/fault-proxy.ts'
import { server } from '../../test/kit/servers/server.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { bodies } from '../../test/rabbitmq/watching.ts'
import { RabbitWorker } from '../kit/mortal/worker.ts'
import { newPlace, type PgPlace } from '../../test/pg/support.ts'

/** Each takes some seconds. `CONSUME_ONCE_TEST_PROPERTY_RUNS=50` looks further. */
const RUNS = Number(process.env['CONSUME_ONCE_TEST_PROPERTY_RUNS'] ?? 2)
const MESSAGES = 400
const WORKERS = 2
/** Outcomes of deliveries that do not come again. */
const SETTLED: ReadonlySet<string> = new Set(['handled', 'duplicate', 'joined'])

let rabbit: Rabbit
let place: PgPlace
let toRabbit: ProxyOf
let toPostgres: ProxyOf

beforeAllOpen(async (own) => {
  rabbit = own(await Rabbit.open())
  place = own(await newPlace())
  toRabbit = own(await startProxyOf(rabbit.url, 5672))
  toPostgres = own(await startProxyOf((await server('postgres')).url, 5432))
})

interface Harm {
  readonly what: 'cut broker' | 'cut store' | 'kill' | 'stop'
  /** Whose turn it is. */
  readonly worker: number
  /** Effects between the harm before and this. */
  readonly after: number
}

const harm: fc.Arbitrary<Harm> = fc.record({
  what: fc.constantFrom('cut broker', 'cut store', 'kill', 'stop'),
  worker: fc.nat(WORKERS - 1),
  after: fc.integer({ min: 0, max: 60 }),
})
const plan = fc.record({
  queueType: fc.constantFrom('quorum' as const, 'classic' as const),
  prefetch: fc.constantFrom(400, 1_000),
  /** Number of messages that are sent twice. */
  repeated: fc.nat(100),
  harms: fc.array(harm, { minLength: 4, maxLength: 8 }),
})

type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never

async function follow({ queueType, prefetch, repeated, harms }: Plan): Promise<void> {
  const queue = rabbit.name()
  const ids = bodies(MESSAGES, `${queue}-`)
  const config = {
    url: toRabbit.url,
    options: [{ queue, queueType, prefetch }],
    store: {
      on: 'postgres',
      strategy: 'inbox',
      url: toPostgres.url,
      schema: place.schema,
    } as const,
    maxAttempts: 100,
  }
  const lives: RabbitWorker[] = []
  const begin = async (): Promise<RabbitWorker> => {
    const worker = new RabbitWorker(config)
    lives.push(worker)
    await worker.untilTold('running') // A start that fails is not tried again.
    return worker
  }
  try {
    const workers = await Promise.all(Array.from({ length: WORKERS }, begin))
    await rabbit.send(
      queue,
      [...ids, ...ids.slice(0, repeated)].map((id) => JSON.stringify({ id })),
    )
    for (const { what, worker, after } of harms) {
      const until = Math.min((await rowsOf(queue)).length + after, MESSAGES)
      await eventually(async () => (await rowsOf(queue)).length >= until)
      if (what === 'cut broker') toRabbit.cut()
      if (what === 'cut store') toPostgres.cut()
      if (what === 'kill') await workers[worker]?.kill()
      if (what === 'stop') await workers[worker]?.stop()
      if (what === 'kill' || what === 'stop') workers[worker] = await begin()
    }
    await eventually(async () => (await rowsOf(queue)).length >= MESSAGES)
    await Promise.all(workers.map((worker) => worker.stop()))
    // Who stops hands back what has not begun: some of what was sent twice may be left, and nothing harms the last life.
    await rabbit.untilUnread(queue)
    const left = await rabbit.ready(queue)
    const last = await begin()
    await last.until(() => last.hasEnded || last.events.filter(({ what }) => SETTLED.has(what)).length >= left)
    await last.stop()
  } finally {
    await Promise.all(lives.map((life) => life.kill()))
  }
  expect((await rowsOf(queue)).toSorted()).toEqual(ids.toSorted())
  expect(await rabbit.takeLeft(queue)).toEqual([])
  expect(await rabbit.takeLeft(`${queue}.dead-letter`)).toEqual([])
}

async function rowsOf(queue: string): Promise<readonly string[]> {
  const { rows } = await place.pool.query<{ name: string }>(
    `select name from ${place.schema}.effect where starts_with(name, $1)`,
    [queue],
  )
  return rows.map(({ name }) => name)
}

// oxlint-disable-next-line jest/expect-expect -- follow() expects
it(
  'whatever is cut, killed and stopped: no message is lost, and each has one row of an inbox',
  () => fc.assert(fc.asyncProperty(plan, follow), { numRuns: RUNS, endOnFailure: true }),
  RUNS * 120_000,
)
