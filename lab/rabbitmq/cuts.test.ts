import { eventually } from '../../test/kit/eventually.ts'
import { Watching } from '../../test/kit/recording-intake.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { type RabbitConnect, type RabbitOptions } from '../../adapters/amqplib/index.ts'
import { rabbitSource } from '../../adapters/amqplib/source-and-publisher.ts'
import type { PgTransaction } from '../../adapters/pg/index.ts'
import { defineConsumer, messageId, type Consumer, type ConsumerSettings, type Running } from '../../src/index.ts'
import { runConsumer } from '../../src/internal.ts'
import { startFaultProxy, type FaultProxy } from '../../test/kit/fault-proxy.ts'
import { server, SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { Tap, type TappedChannel } from '../../test/rabbitmq/tap.ts'
import { Gate, bodies } from '../../test/rabbitmq/watching.ts'
import { newPlace, type PgPlace } from '../../test/pg/support.ts'
import { redisHarness, type RedisHarness } from '../../test/redis/harness.ts'

let rabbit: Rabbit
let proxy: FaultProxy
let redis: RedisHarness
let place: PgPlace
const started: Running[] = []

beforeAll(async () => {
  rabbit = await Rabbit.open()
  proxy = await startFaultProxy(Number(new URL(rabbit.url).port || 5672))
  redis = await redisHarness((await server('redis')).url)
  place = await newPlace()
}, SERVER_WITHIN_MS)
afterEach(async () => {
  proxy.accept()
  await Promise.all(started.splice(0).map((running) => running.stop({ deadlineMs: 100 })))
})
afterAll(async () => {
  await proxy.stop()
  await rabbit[Symbol.asyncDispose]()
  await redis.close()
  await place.close()
})

type Strategy = 'lease' | 'inbox'

interface Started {
  readonly running: Running
  readonly watching: Watching
  /** One entry for each handler start, in order. */
  readonly starts: string[]
  /** How often each effect is there. */
  readonly effects: () => Promise<Readonly<Record<string, number>>>
}

/** A consumer whose effect is the message's text, after `before`. */
async function start(
  strategy: Strategy,
  options: RabbitOptions,
  connect: RabbitConnect,
  before: (text: string) => unknown = () => {},
): Promise<Started> {
  const [watching, starts, done] = [new Watching(), [] as string[], [] as string[]]
  const settings: Omit<ConsumerSettings<string, string, never>, 'store' | 'onInDoubt'> = {
    name: 'cuts',
    id: messageId.property(),
    decode: (value) => Buffer.from(value ?? []).toString(),
    backoff: { initialMs: 5, maxMs: 20 },
    observe: watching.observe,
  }
  const begin = async (text: string): Promise<void> => {
    starts.push(text)
    await before(text)
  }
  const consumer: Consumer =
    strategy === 'lease'
      ? defineConsumer<string>({
          ...settings,
          store: redis.store,
          handle: async ({ payload }) => {
            await begin(payload)
            done.push(payload)
          },
        })
      : defineConsumer<string, string, PgTransaction>({
          ...settings,
          store: await place.newInbox(),
          handle: async ({ payload, tx }) => {
            await begin(payload)
            await place.write(tx, `${options.queue} ${payload}`)
          },
        })
  const running = await runConsumer(consumer, rabbitSource(connect, options))
  started.push(running)
  const effects = async (): Promise<Readonly<Record<string, number>>> =>
    countOf(strategy === 'lease' ? done : await writtenFor(options.queue))
  return { running, watching, starts, effects }
}

async function writtenFor(queue: string): Promise<readonly string[]> {
  const { rows } = await place.pool.query<{ text: string }>(
    `select substr(name, length($1) + 2) as text from ${place.schema}.effect where starts_with(name, $1 || ' ')`,
    [queue],
  )
  return rows.map(({ text }) => text)
}

function countOf(texts: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const text of texts) counts[text] = (counts[text] ?? 0) + 1
  return counts
}

const once = (texts: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries(texts.map((text) => [text, 1]))

function viaProxy(): string {
  return Object.assign(new URL(rabbit.url), { hostname: '127.0.0.1', port: String(proxy.port) }).href
}

/** Every ack names a tag that its own channel delivered, and none that was settled before. */
function expectOwnTags({ frames, delivered }: TappedChannel): void {
  const open = new Set(Array.from({ length: delivered }, (_, index) => index + 1))
  for (const frame of frames) {
    if (frame.kind === 'cancel') continue
    expect([...open]).toContain(frame.tag)
    for (const tag of open) {
      if (tag === frame.tag || ('multiple' in frame && frame.multiple && tag < frame.tag)) open.delete(tag)
    }
  }
}

describe.each<Strategy>(['lease', 'inbox'])('with strategy %s, a TCP connection that is cut', (strategy) => {
  it('while handlers run: nothing they say reaches the next channel, whose tags mean other messages [T83]', async () => {
    const queue = rabbit.name()
    const [old, fresh] = [bodies(4, 'old'), bodies(4, 'fresh')]
    const gates = { old: new Gate(), fresh: new Gate() }
    const tap = new Tap(viaProxy())
    const { watching, starts, running, effects } = await start(strategy, { queue }, tap.connect, (text) =>
      text.startsWith('old') ? gates.old.opened : gates.fresh.opened,
    )
    await rabbit.send(queue, old)
    await eventually(() => tap.consuming[0]?.delivered === 4 && starts.length === 4)
    proxy.refuse()
    proxy.cut()
    await watching.untilTold('connection-lost')

    // The next channel gets other messages with the same tags: these are in somebody else's hands.
    await rabbit.ask(async (channel) => {
      for (const text of old) expect(await getOne(channel, queue)).toBe(text)
      await rabbit.send(queue, fresh)
      proxy.accept()
      await watching.untilTold('rebuilt')
      await eventually(() => tap.consuming[1]?.delivered === 4)
      gates.old.open()
      await watching.untilOutcomes('settle-refused', 4)
    })
    // They came back with that channel.
    await eventually(() => tap.consuming[1]?.delivered === 8)
    expect(tap.consuming.map(({ frames }) => frames)).toEqual([[], []])
    gates.fresh.open()
    await eventually(async () => Object.keys(await effects()).length === 8)
    // Those that came back are settled before the stop, which would give them back once more.
    await watching.untilOutcomes('duplicate', 4)
    await running.stop()
    expect(await effects()).toEqual(once([...old, ...fresh]))
    expect(await rabbit.takeLeft(queue)).toEqual([])
    expect(watching.told('channel-closed')).toBe(0)
    tap.consuming.forEach(expectOwnTags)
  })

  it('again and again under load loses nothing, and each message has one effect', async () => {
    const queue = rabbit.name()
    const all = bodies(1_500)
    const tap = new Tap(viaProxy())
    const { watching, running, effects } = await start(strategy, { queue }, tap.connect, (text) =>
      text.endsWith('7') ? new Promise((resolve) => setTimeout(resolve, 5)) : undefined,
    )
    await rabbit.send(queue, all)
    for (let cuts = 1; cuts <= 4; cuts++) {
      const before = tap.consuming.at(-1)
      await eventually(() => (before?.delivered ?? 0) > 20 * cuts)
      proxy.cut()
      await watching.untilTold('rebuilt', cuts)
    }
    await eventually(async () => Object.keys(await effects()).length === all.length)
    await running.stop()
    expect(await effects()).toEqual(once(all))
    expect(await rabbit.takeLeft(queue)).toEqual([])
    expect(await rabbit.takeLeft(`${queue}.dead-letter`)).toEqual([])
    expect(watching.told('channel-closed')).toBe(0)
    expect(tap.consuming).toHaveLength(5)
    tap.consuming.forEach(expectOwnTags)
  }, 60_000)
})

describe('a handler in a transaction that takes longer than each connection lasts', () => {
  it('runs once and commits in its first attempt: each redelivery joins it', async () => {
    const queue = rabbit.name()
    const [all, gate, tap] = [bodies(4), new Gate(), new Tap(viaProxy())]
    const { watching, starts, running, effects } = await start('inbox', { queue }, tap.connect, () => gate.opened)
    await rabbit.send(queue, all)
    for (let cut = 1; cut <= 4; cut++) {
      // A rebuilt connection may break once more by itself: the newest counts, and 'rebuilt' may be told more often.
      await eventually(() => tap.consuming.at(-1)?.delivered === 4 && starts.length === 4)
      const channels = tap.consuming.length
      proxy.cut()
      await eventually(() => tap.consuming.length > channels && watching.told('rebuilt') >= cut)
    }
    await eventually(() => tap.consuming.at(-1)?.delivered === 4)
    gate.open()
    await watching.untilOutcomes('joined', 4)
    await running.stop()
    expect(starts.toSorted()).toEqual(all.toSorted())
    expect(await effects()).toEqual(once(all))
    expect(watching.told('attempt-failed')).toBe(0)
    expect(await rabbit.takeLeft(queue)).toEqual([])
    tap.consuming.forEach(expectOwnTags)
  })

  it('is waited for by another process that has the redelivery, which finds it done', async () => {
    const queue = rabbit.name()
    const [gate, tap] = [new Gate(), new Tap(viaProxy())]
    const one = await start('inbox', { queue }, tap.connect, () => gate.opened)
    await rabbit.send(queue, ['a'])
    await eventually(() => one.starts.length === 1)
    proxy.refuse()
    proxy.cut()
    await one.watching.untilTold('connection-lost')
    const other = await start('inbox', { queue }, new Tap(rabbit.url).connect)
    await eventually(() => other.watching.told('claims') > 0)
    gate.open()
    await one.watching.untilOutcomes('settle-refused', 1)
    await other.watching.untilOutcomes('duplicate', 1)
    expect(other.starts).toEqual([])
    expect(await one.effects()).toEqual(once(['a']))
  })
})

async function getOne(channel: Parameters<Parameters<Rabbit['ask']>[0]>[0], queue: string): Promise<string> {
  for (;;) {
    const message = await channel.get(queue)
    if (message !== false) return message.content.toString()
  }
}
