import { eventually } from '../kit/eventually.ts'
import { Watching } from '../kit/recording-intake.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { runRabbit, type RabbitOptions } from '../../adapters/amqplib/index.ts'
import {
  defineConsumer,
  messageId,
  TerminalError,
  type ConsumerSettings,
  type HandlerContext,
  type Running,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { uniqueName } from '../kit/namespace.ts'
import { server, SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { Rabbit } from './rabbit.ts'
import { Tap } from './tap.ts'
import { Gate, bodies } from './watching.ts'
import { redisHarness, type RedisHarness } from '../redis/harness.ts'

let rabbit: Rabbit
let redis: RedisHarness
const started: Running[] = []

beforeAll(async () => {
  rabbit = await Rabbit.open()
  redis = await redisHarness((await server('redis')).url)
}, SERVER_WITHIN_MS)
afterEach(() => Promise.all(started.splice(0).map((running) => running.stop({ deadlineMs: 100 }))))
afterAll(async () => {
  await rabbit[Symbol.asyncDispose]()
  await redis.close()
})

interface Started {
  readonly running: Running
  readonly watching: Watching
  readonly tap: Tap
}

async function start(
  options: RabbitOptions,
  handle: (context: HandlerContext<string>) => unknown,
  settings: Partial<ConsumerSettings<string, string, never>> = {},
): Promise<Started> {
  const [watching, tap] = [new Watching(), new Tap(rabbit.url)]
  const consumer = defineConsumer<string>({
    name: 'stuck',
    id: messageId.property(),
    decode: (value) => Buffer.from(value ?? []).toString(),
    store: memoryStore(),
    backoff: { initialMs: 5, maxMs: 20 },
    observe: watching.observe,
    handle,
    ...settings,
  })
  const running = await runRabbit(tap.connect, consumer, options)
  started.push(running)
  return { running, watching, tap }
}

const OTHERS = bodies(100, 'other')

describe('a message that is not finished for long', () => {
  it('because its handler never ends: told, out of live, in doubt, and run again; the others go on', async () => {
    const queue = rabbit.name()
    const runs: string[] = []
    const handle = async ({ payload, attempt, signal }: HandlerContext<string>): Promise<void> => {
      runs.push(`${payload} ${attempt}`)
      if (payload === 'stuck' && attempt === 1) await new Promise<void>(() => signal.aborted)
    }
    const short = { leaseMs: 600, handlerTimeoutMs: 300, graceMs: 100 }
    const { running, watching } = await start({ queue }, handle, short)
    await rabbit.send(queue, ['stuck', ...OTHERS])
    await watching.untilOutcomes('handled', OTHERS.length)
    await watching.untilTold('stuck')
    expect(running.health()).toMatchObject({ live: false, checks: { handlers: '1 stuck' } })

    await rabbit.send(queue, ['later'])
    await watching.untilOutcomes('handled', OTHERS.length + 2)
    expect(runs.filter((run) => run.startsWith('stuck'))).toEqual(['stuck 1', 'stuck 2'])
    expect(watching.told('in-doubt')).toBe(1)
    await running.stop({ deadlineMs: 100 })
    expect(await rabbit.takeLeft(queue)).toEqual([])
  })

  it('because another process has it: no hot loop, no attempt spent, and settled once that one is done', async () => {
    const [queue, theirs, scope] = [rabbit.name(), rabbit.name(), uniqueName('scope')]
    const leaseMs = 300
    const gate = new Gate()
    const other = await start({ queue: theirs }, () => gate.opened, { store: redis.store, scope, leaseMs })
    await rabbit.send(theirs, ['busy'])
    await other.watching.untilTold('claims')

    const handled: string[] = []
    const { running, watching, tap } = await start({ queue }, ({ payload }) => handled.push(payload), {
      store: await redis.secondStore(),
      scope,
      leaseMs,
    })
    await rabbit.send(queue, ['busy'])
    const asked = (): number => watching.told('claims')
    // Each waits for the end of the lease that it met, which the other has renewed meanwhile.
    const from = performance.now()
    await watching.until(() => asked() >= 5)
    expect(performance.now() - from).toBeGreaterThan(leaseMs)
    await rabbit.send(queue, OTHERS)
    await watching.untilOutcomes('handled', OTHERS.length)
    expect(watching.outcomes()).toEqual({ handled: OTHERS.length })
    expect(tap.consuming.map(({ delivered }) => delivered)).toEqual([1 + OTHERS.length])
    expect(running.health()).toMatchObject({ live: true, ready: true })

    gate.open()
    await watching.untilOutcomes('duplicate', 1)
    expect(handled).not.toContain('busy')
    expect([watching.told('in-doubt'), watching.told('attempt-failed')]).toEqual([0, 0])
    await running.stop()
    expect(await rabbit.takeLeft(queue)).toEqual([])
    expect(await rabbit.takeLeft(`${queue}.dead-letter`)).toEqual([])
  })

  it('because its dead-letter queue was replaced by one that is full: told, tried again, kept; and moved once it can be', async () => {
    const queue = rabbit.name()
    const dead = `${queue}.dead-letter`
    const { running, watching } = await start({ queue }, ({ payload }) => {
      if (payload === 'bad') throw new TerminalError('bad')
    })
    await rabbit.delete(dead)
    await rabbit.declare(dead, { 'x-queue-type': 'classic', 'x-max-length': 0, 'x-overflow': 'reject-publish' })
    await rabbit.send(queue, ['bad', ...OTHERS])
    await watching.untilTold('publish-failed', 2)
    await watching.untilOutcomes('handled', OTHERS.length)
    expect(watching.outcomes()).toEqual({ handled: OTHERS.length })
    expect(running.health()).toMatchObject({ live: true, checks: { handlers: '1 in flight' } })

    await rabbit.delete(dead)
    await watching.untilOutcomes('dead-lettered', 1) // Declared again where it is missing.
    await running.stop()
    expect((await rabbit.takeLeft(dead)).map(({ body }) => body)).toEqual(['bad'])
    expect(await rabbit.takeLeft(queue)).toEqual([])
  })
})

describe('a handler that ends in a way of its own', () => {
  it.each<[string, () => unknown]>([
    [
      'throws undefined',
      () => {
        // eslint-disable-next-line typescript/only-throw-error
        throw undefined
      },
    ],
    [
      'throws a text',
      () => {
        // eslint-disable-next-line typescript/only-throw-error
        throw 'no'
      },
    ],
    // eslint-disable-next-line typescript/prefer-promise-reject-errors
    ['rejects with undefined', () => Promise.reject()],
    ['rejects after a while', () => new Promise((_resolve, reject) => setImmediate(() => reject(new Error('no'))))],
  ])('and %s frees its slot, keeps its channel, and is tried again', async (_how, fail) => {
    const queue = rabbit.name()
    const handle = ({ attempt }: HandlerContext<string>): unknown => (attempt === 1 ? fail() : undefined)
    const { running, watching, tap } = await start({ queue, prefetch: 2 }, handle, { concurrency: 1 })
    await rabbit.send(queue, bodies(20))
    await watching.untilOutcomes('handled', 20)
    expect(watching.told('attempt-failed')).toBe(20)
    expect(running.health()).toMatchObject({ live: true, ready: true })
    expect(tap.consuming).toHaveLength(1)
    await running.stop()
    await eventually(async () => (await rabbit.consumers(queue)) === 0)
    expect(await rabbit.takeLeft(queue)).toEqual([])
  })
})
