import { fork, type ChildProcess } from 'node:child_process'
import { once as onceEmitted } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lentPlaces } from '../kit/lent-places.ts'
import { openedForEach } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { afterEach, expect, it } from '@jest/globals'
import {
  postgresInbox,
  postgresOutbox,
  type PostgresOutbox,
  type PostgresOutboxOptions,
} from '../../adapters/pg/index.ts'
import { BrokerError, defineConsumer, messageId, once, type ConsumerOptions, type Observer } from '../../src/index.ts'
import { MemoryBroker, memoryStore, runMemory } from '../../src/memory/index.ts'
import type { PgTransaction } from '../../adapters/pg/index.ts'
import { Meter } from '../../src/signals/meter.ts'
import type { Pausable, Running } from '../../src/ports/lifecycle.ts'
import { server } from '../kit/servers/server.ts'
import { claimAll, grantedBy, newItem } from '../../testing/contract/store/claims.ts'
import { outgoingOf } from '../../src/outbox/outgoing.ts'
import { uniqueName } from '../kit/namespace.ts'
import { describePostgres, newPlace, type PgPlace } from './support.ts'

interface Sent {
  readonly topic: string
  readonly messageId: string
  readonly value: Buffer | null
}

/** A broker that writes down what it confirms. */
class Confirming {
  readonly sent: Sent[] = []
  answer: (message: Sent) => Promise<void> | void = () => {}

  async publish(message: Sent): Promise<void> {
    await this.answer(message)
    this.sent.push(message)
  }

  get ids(): readonly string[] {
    return this.sent.map(({ messageId: id }) => id)
  }

  get texts(): readonly string[] {
    return this.sent.map(({ value }) => String(value))
  }
}

describePostgres('the outbox of Postgres', () => {
  let place: PgPlace
  openedForEach(
    lentPlaces(() => newPlace()),
    (made) => (place = made),
  )
  const running: (Running & Partial<Pausable>)[] = []
  const started: PostgresOutbox[] = []
  afterEach(async () => {
    await Promise.all(running.splice(0).map((one) => one.stop()))
    await Promise.all(started.splice(0).map((one) => one.stop(0)))
  })

  function outboxOn(kafka: Confirming, options: Partial<PostgresOutboxOptions> = {}): PostgresOutbox {
    return postgresOutbox({ pool: place.newPool(), schema: place.schema, publishers: { kafka }, ...options })
  }

  function begin(outbox: PostgresOutbox): PostgresOutbox {
    started.push(outbox)
    outbox.start()
    return outbox
  }

  /** A consumer on a broker in memory, whose messages are `{ n }`. */
  async function consume(
    outbox: PostgresOutbox | undefined,
    handling: Pick<ConsumerOptions<{ n: number }, { n: number }, PgTransaction>, 'handle'>,
    more: Partial<ConsumerOptions<{ n: number }, { n: number }, PgTransaction>> = {},
  ): Promise<{ readonly send: (...numbers: readonly number[]) => void; readonly broker: MemoryBroker }> {
    const broker = new MemoryBroker()
    const consumer = defineConsumer<{ n: number }, { n: number }, PgTransaction>({
      name: uniqueName('charges'),
      id: messageId.header('id'),
      store: postgresInbox({ pool: place.newPool({ max: 8 }), schema: place.schema, ...(outbox && { outbox }) }),
      backoff: { initialMs: 1, maxMs: 1 },
      ...handling,
      ...more,
    } as ConsumerOptions<{ n: number }, { n: number }, PgTransaction>)
    running.push(await runMemory(broker, consumer, { topic: 'orders', group: 'g' }))
    const send = (...numbers: readonly number[]): void => {
      for (const n of numbers)
        broker.publish('orders', { value: Buffer.from(JSON.stringify({ n })), headers: { id: `order-${n}` } })
    }
    return { send, broker }
  }

  const rows = async (): Promise<number> =>
    Number((await place.pool.query(`select count(*) as n from ${place.schema}.outbox`)).rows[0].n)

  it('publishes after the COMMIT what a handler wrote with its effect, and removes it then', async () => {
    const kafka = new Confirming()
    const seen: number[] = []
    kafka.answer = async ({ value }) => void seen.push(await place.committed(`charge ${String(value)}`))
    const { send } = await consume(outboxOn(kafka), {
      handle: async ({ payload, tx, publish }) => {
        await place.write(tx, `charge ${payload.n}`)
        await publish({ topic: 'charged', key: 'account', value: String(payload.n) })
      },
    })
    send(1, 2, 3)
    await eventually(async () => kafka.sent.length === 3)
    expect(seen).toEqual([1, 1, 1])
    await eventually(async () => (await rows()) === 0)
    expect(kafka.sent.every(({ topic }) => topic === 'charged')).toBe(true)
  })

  it('publishes nothing of a handler that fails, and under the same IDs what it writes in the end', async () => {
    const kafka = new Confirming()
    const ids: string[] = []
    const { send } = await consume(outboxOn(kafka), {
      handle: async ({ payload, publish, attempt, idempotencyKey }) => {
        ids.push(await publish({ topic: 'charged', value: `first of attempt ${attempt}` }))
        if (attempt === 1 && payload.n === 2) throw new Error('not yet')
        const second = await publish({ topic: 'charged', value: 'second' })
        expect(second).toBe(`${idempotencyKey}-1`)
      },
    })
    send(2)
    await eventually(async () => kafka.sent.length === 2)
    expect(kafka.texts).toEqual(['first of attempt 2', 'second'])
    expect(new Set(ids).size).toBe(1)
    expect(kafka.ids[0]).toBe(ids[0])
  })

  it('keeps the order of a key, one after the other, whatever the others do', async () => {
    const kafka = new Confirming()
    const under = new Map<string, number>()
    kafka.answer = async ({ value }) => {
      const key = String(value).split(' ')[0] ?? ''
      under.set(key, (under.get(key) ?? 0) + 1)
      expect(under.get(key)).toBe(1)
      await new Promise((resolve) => setImmediate(resolve))
      under.set(key, 0)
    }
    const outbox = begin(outboxOn(kafka))
    begin(outboxOn(kafka))
    const client = await place.pool.connect()
    for (let n = 0; n < 200; n += 10) {
      await client.query('begin')
      await outbox.publish(
        client,
        Array.from({ length: 10 }, (_, at) => ({
          topic: 't',
          key: `k${(n + at) % 7}`,
          value: `k${(n + at) % 7} ${n + at}`,
        })),
      )
      await client.query('commit')
    }
    client.release()
    await eventually(async () => kafka.sent.length === 200)
    for (let key = 0; key < 7; key++) {
      const numbers = kafka.texts
        .filter((text) => text.startsWith(`k${key} `))
        .map((text) => Number(text.split(' ')[1]))
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
    }
    expect(new Set(kafka.ids).size).toBe(200)
  })

  it('skips no row whose transaction commits after those behind it', async () => {
    const kafka = new Confirming()
    const outbox = begin(outboxOn(kafka))
    const [late, early] = [await place.pool.connect(), await place.pool.connect()]
    await late.query('begin')
    await outbox.publish(late, { topic: 't', key: 'a', value: 'late' })
    await outbox.publish(early, { topic: 't', key: 'b', value: 'early' })
    await eventually(async () => kafka.texts.includes('early'))
    await late.query('commit')
    await eventually(async () => kafka.sent.length === 2)
    expect(kafka.texts).toEqual(['early', 'late'])
    late.release()
    early.release()
  })

  it('holds up the line of a message that is refused, and no other; a limit parks it, and a person lets it go', async () => {
    const kafka = new Confirming()
    let isRefused = true
    kafka.answer = ({ value }) => {
      if (isRefused && String(value) === 'bad') throw new BrokerError('BROKER_PUBLISH_REFUSED', 'it is too large')
    }
    const told: string[] = []
    const outbox = begin(outboxOn(kafka, { maxAttempts: 1, observe: (event) => told.push(event.event) }))
    await outbox.publish(place.pool, [
      { topic: 't', key: 'a', value: 'bad' },
      { topic: 't', key: 'a', value: 'behind it' },
      { topic: 't', key: 'b', value: 'other' },
    ])
    await eventually(async () => kafka.texts.includes('other') && kafka.texts.includes('behind it'))
    const [parked, none] = await outbox.parked()
    expect(none).toBeUndefined()
    expect(parked).toMatchObject({ place: 't', cause: 'it is too large', attempts: 1 })
    expect(told).toContain('parked')
    expect(await outbox.backlog()).toMatchObject([{ system: 'kafka', place: 't', waiting: 0, parked: 1 }])
    isRefused = false
    expect(await outbox.redrive([parked?.id ?? ''])).toBe(1)
    await eventually(async () => kafka.texts.includes('bad'))
    expect(await rows()).toBe(0)
  })

  it('waits behind a message that failed, as long as that is tried again', async () => {
    const kafka = new Confirming()
    let failures = 1
    kafka.answer = ({ value }) => {
      if (String(value) === 'first' && failures-- > 0) throw new BrokerError('BROKER_PUBLISH_REFUSED', 'no topic yet')
    }
    const outbox = begin(outboxOn(kafka))
    await outbox.publish(place.pool, [
      { topic: 't', key: 'a', value: 'first' },
      { topic: 't', key: 'a', value: 'second' },
      { topic: 't', key: 'b', value: 'other' },
    ])
    await eventually(async () => kafka.sent.length === 3)
    expect(kafka.texts).toEqual(['other', 'first', 'second'])
  })

  it('counts no attempt while the broker is down', async () => {
    const kafka = new Confirming()
    let isDown = true
    kafka.answer = () => {
      if (isDown) throw new BrokerError('BROKER_UNREACHABLE', 'nobody there')
    }
    const told: string[] = []
    const outbox = begin(outboxOn(kafka, { maxAttempts: 1, observe: (event) => told.push(event.event) }))
    await outbox.publish(place.pool, { topic: 't', value: 'x' })
    await eventually(async () => told.includes('waits'))
    expect(await outbox.backlog()).toMatchObject([{ waiting: 1, failing: 0, parked: 0 }])
    isDown = false
    await eventually(async () => kafka.sent.length === 1)
  })

  it('is refused under a store without one, with what to do, and after the end of the handler', async () => {
    const kafka = new Confirming()
    let kept: ((message: { topic: string; value: string }) => Promise<string>) | undefined
    const { broker, send } = await consume(undefined, {
      handle: async ({ publish }) => publish({ topic: 't', value: '' }),
    })
    send(1)
    await eventually(async () => broker.deadLetters.length === 1)
    expect(broker.deadLetters[0]?.detail).toContain(
      'postgresInbox({ pool, outbox: postgresOutbox({ pool, publishers }) })',
    )
    const other = await consume(outboxOn(kafka), {
      handle: async ({ publish }) => {
        kept = publish
        await publish({ topic: 't', value: 'in time' })
      },
    })
    other.send(2)
    await eventually(async () => kafka.sent.length === 1)
    expect(() => kept?.({ topic: 't', value: 'late' })).toThrow('the handler has ended')
  })

  it('loses nothing and keeps the order of each line when its relays are killed, again and again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'consume-once-outbox-'))
    const file = join(folder, 'broker')
    writeFileSync(file, '')
    const outbox = outboxOn(new Confirming(), { relay: false })
    await outbox.backlog() // makes the table
    const relays = new Set<ChildProcess>()
    const relay = async (): Promise<void> => {
      const { url } = await server('postgres')
      const child = fork('test/pg/outbox-relay.ts', [url, place.schema, file], { execArgv: ['--import', 'tsx'] })
      relays.add(child)
      await onceEmitted(child, 'message')
    }
    const kill = async (): Promise<void> => {
      const [oldest] = relays
      if (oldest === undefined) return
      relays.delete(oldest)
      oldest.kill('SIGKILL')
      await onceEmitted(oldest, 'exit')
    }
    await Promise.all([relay(), relay()])
    const expected = new Set<string>()
    for (let round = 0; round < 4; round++) {
      for (let batch = 0; batch < 20; batch++) {
        const messages = Array.from({ length: 20 }, (_, at) => {
          const n = round * 400 + batch * 20 + at
          expected.add(`id-${n}`)
          return { topic: 't', key: `k${n % 9}`, value: `k${n % 9} ${n}`, messageId: `id-${n}` }
        })
        await outbox.publish(place.pool, messages)
      }
      await kill()
      await relay()
    }
    await eventually(async () => (await rows()) === 0)
    while (relays.size > 0) await kill()
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    expect(new Set(lines.map((line) => line.split(' ')[0]))).toEqual(expected)
    const last = new Map<string, number>()
    const seen = new Set<string>()
    for (const line of lines) {
      const [id = '', key = '', n = ''] = line.split(' ')
      if (seen.has(id)) continue
      seen.add(id)
      expect(Number(n)).toBeGreaterThan(last.get(key) ?? -1)
      last.set(key, Number(n))
    }
    rmSync(folder, { recursive: true })
  }, 60_000)

  it('is read as gauges of the consumer', async () => {
    const kafka = new Confirming()
    kafka.answer = () => {
      throw new BrokerError('BROKER_UNREACHABLE', 'nobody there')
    }
    const meter = new Meter()
    const { send } = await consume(
      outboxOn(kafka),
      { handle: ({ publish }) => publish({ topic: 'charged', value: '1' }) },
      { observe: meter.observe as Observer },
    )
    send(1, 2)
    await eventually(async () => (await rows()) === 2)
    const { outboxWaiting, outboxParked, outboxOldest } = await meter.gauges()
    expect(outboxWaiting).toMatchObject([{ labels: { destination: 'charged' }, value: 2 }])
    expect(outboxParked).toMatchObject([{ value: 0 }])
    expect(outboxOldest[0]?.value).toBeGreaterThan(0)
  })

  it('takes what a function publishes that is called once, under the IDs of its key, and nothing of one that fails', async () => {
    const kafka = new Confirming()
    const outbox = begin(outboxOn(kafka))
    const store = postgresInbox({ pool: place.newPool(), schema: place.schema, outbox })
    const keys: string[] = []
    const call = (isFailing: boolean): Promise<unknown> =>
      once(store, 'payment-1', async ({ publish, idempotencyKey, attempt }) => {
        keys.push(`${idempotencyKey}-0`, await publish({ topic: 'paid', value: `attempt ${attempt}` }))
        if (isFailing) throw new Error('declined')
      })
    await expect(call(true)).rejects.toThrow('declined')
    await call(false)
    await call(false)
    await eventually(async () => kafka.sent.length > 0 && (await rows()) === 0)
    expect(kafka.texts).toEqual(['attempt 2'])
    expect(new Set([...keys, ...kafka.ids]).size).toBe(1)
    await expect(once(memoryStore(), 'x', ({ publish }) => publish({ topic: 't', value: '' }))).rejects.toThrow(
      'a lease, which has no transaction',
    )
  })

  it('is flushed with its transaction, whatever the session or the store does', async () => {
    const outbox = outboxOn(new Confirming(), { relay: false })
    await outbox.backlog()
    await place.alter(`create table ${place.schema}.flushed (setting text);
      create function ${place.schema}.note() returns trigger language plpgsql as
        $$ begin insert into ${place.schema}.flushed values (current_setting('synchronous_commit')); return null; end $$;
      create constraint trigger note after insert on ${place.schema}.outbox deferrable initially deferred
        for each row execute function ${place.schema}.note()`)
    const client = await place.pool.connect()
    await client.query("begin; set local synchronous_commit = 'off'")
    await outbox.publish(client, { topic: 't', value: '' })
    await client.query('commit')
    client.release()
    const store = postgresInbox({
      pool: place.newPool(),
      schema: place.schema,
      outbox,
      durability: 'flush-ticker',
    })
    await once(store, 'x', ({ publish }) => publish({ topic: 't', value: '' }))
    const { rows: noted } = await place.pool.query(`select setting from ${place.schema}.flushed`)
    expect(noted).toEqual([{ setting: 'on' }, { setting: 'on' }])
  })

  it('is written with a position too', async () => {
    const outbox = outboxOn(new Confirming(), { relay: false })
    await outbox.backlog()
    const store = await place.newOffsets({ outbox })
    const item = { ...newItem(), position: { stream: 't/0', offset: 0n, follows: undefined, timestamp: undefined } }
    const [answer] = await claimAll(store, [item])
    const { claim: claimed } = grantedBy(answer)
    claimed.transaction.publish?.([outgoingOf({ topic: 't', value: 'x' }, { messageId: 'id', order: '' })])
    expect(await rows()).toBe(0)
    await store.mark([claimed])
    expect(await rows()).toBe(1)
  })
})
