import { afterEach, expect, it, jest } from '@jest/globals'
import type { OutboxOptions, QueryLike, SqlOutbox } from '../../../adapters/sql/outbox/types.ts'
import {
  BrokerError,
  defineConsumer,
  doctor,
  messageId,
  once,
  type ConsumerOptions,
  type HandlerContext,
  type Observer,
  type OutgoingMessage,
} from '../../../src/index.ts'
import type { InboxStore } from '../../../src/internal.ts'
import { identityOf, type Identity } from '../../../src/identity/digest.ts'
import { MemoryBroker, memoryStore, runMemory } from '../../../src/memory/index.ts'
import type { Pausable, Running } from '../../../src/ports/lifecycle.ts'
import { Meter } from '../../../src/signals/meter.ts'
import { eventually } from '../eventually.ts'
import { uniqueName } from '../namespace.ts'

interface Sent {
  readonly topic: string
  readonly messageId: string
  readonly value: Buffer | null
}

/** A broker that writes down what it confirms. */
export class Confirming {
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

/** One database, with its outbox. */
export interface OutboxRig<Tx> {
  outbox(options: Pick<OutboxOptions, 'publishers'> & Partial<OutboxOptions>): SqlOutbox
  store(outbox: SqlOutbox | undefined): InboxStore<Tx>
  write(tx: Tx, effect: string): Promise<unknown>
  committed(effect: string): Promise<number>
  /** In the outbox. */
  rows(): Promise<number>
  /** All rows were written an hour ago. */
  age(): Promise<unknown>
  /** Of these, those that were never put off. */
  due(): Promise<number>
  /** Each statement commits by itself. */
  readonly pool: QueryLike
  transaction(): Promise<{ readonly tx: QueryLike; readonly commit: () => Promise<void> }>
}

type Numbered<Tx> = ConsumerOptions<{ n: number }, { n: number }, Tx>

type Context<Tx> = HandlerContext<{ n: number }> & { readonly tx: Tx }

/** What a test does with an outbox. All that it starts is stopped after it. */
export class OutboxUse<Tx> {
  readonly #rig: () => OutboxRig<Tx>
  readonly #running: (Running & Partial<Pausable>)[] = []
  readonly #started: SqlOutbox[] = []

  constructor(rig: () => OutboxRig<Tx>) {
    this.#rig = rig
    afterEach(async () => {
      await Promise.all(this.#running.splice(0).map((one) => one.stop()))
      await Promise.all(this.#started.splice(0).map((one) => one.stop(0)))
    })
  }

  get rig(): OutboxRig<Tx> {
    return this.#rig()
  }

  outbox(kafka: Confirming, options: Partial<OutboxOptions> = {}): SqlOutbox {
    return this.rig.outbox({ publishers: { kafka }, ...options })
  }

  begin(outbox: SqlOutbox): SqlOutbox {
    this.#started.push(outbox)
    outbox.start()
    return outbox
  }

  async commit(outbox: SqlOutbox, messages: OutgoingMessage | readonly OutgoingMessage[]): Promise<void> {
    await outbox.open()
    const { tx, commit } = await this.rig.transaction()
    await outbox.publish(tx, messages)
    await commit()
  }

  /** A consumer on a broker in memory, whose messages are `{ n }`. */
  async consume(
    outbox: SqlOutbox | undefined,
    handling: { readonly handle: (context: Context<Tx>) => unknown },
    more: Partial<Numbered<Tx>> = {},
  ): Promise<{ readonly send: (...numbers: readonly number[]) => void; readonly broker: MemoryBroker }> {
    const broker = new MemoryBroker()
    const consumer = defineConsumer<{ n: number }, { n: number }, Tx>({
      name: uniqueName('charges'),
      id: messageId.header('id'),
      store: this.rig.store(outbox),
      backoff: { initialMs: 1, maxMs: 1 },
      ...handling,
      ...more,
    } as Numbered<Tx>)
    this.#running.push(await runMemory(broker, consumer, { topic: 'orders', group: 'g' }))
    const send = (...numbers: readonly number[]): void => {
      for (const n of numbers) {
        broker.publish('orders', { value: Buffer.from(JSON.stringify({ n })), headers: { id: `order-${n}` } })
      }
    }
    return { send, broker }
  }
}

const waitsAt = (place: string): string => `weaker outbox.relay: ${place}: 1 wait, the oldest for 1 h`

/** What every outbox keeps to. */
export function itKeepsToTheLaws<Tx>(use: OutboxUse<Tx>): void {
  it('publishes after the COMMIT what a handler wrote with its effect, and removes it then [T302]', async () => {
    const kafka = new Confirming()
    const seen: number[] = []
    kafka.answer = async ({ value }) => void seen.push(await use.rig.committed(`charge ${String(value)}`))
    const { send } = await use.consume(use.outbox(kafka), {
      handle: async ({ payload, tx, publish }) => {
        await use.rig.write(tx, `charge ${payload.n}`)
        await publish({ topic: 'charged', key: 'account', value: String(payload.n) })
      },
    })
    send(1, 2, 3)
    await eventually(async () => kafka.sent.length === 3)
    expect(seen).toEqual([1, 1, 1])
    await eventually(async () => (await use.rig.rows()) === 0)
    expect(kafka.sent.every(({ topic }) => topic === 'charged')).toBe(true)
  })

  // Published twice by the state of its inbox: https://github.com/MassTransit/MassTransit/issues/3791
  it('publishes nothing of a handler that fails, and under the same IDs what it writes in the end [T303]', async () => {
    const kafka = new Confirming()
    const ids: string[] = []
    const { send } = await use.consume(use.outbox(kafka), {
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

  // Order was lost when ten deliveries ran at once: https://github.com/MassTransit/MassTransit/issues/3512
  it('keeps the order of a key, one after the other, whatever the others do [T304]', async () => {
    const kafka = new Confirming()
    const under = new Map<string, number>()
    kafka.answer = async ({ value }) => {
      const key = String(value).split(' ')[0] ?? ''
      under.set(key, (under.get(key) ?? 0) + 1)
      expect(under.get(key)).toBe(1)
      await new Promise((resolve) => setImmediate(resolve))
      under.set(key, 0)
    }
    const outbox = use.begin(use.outbox(kafka))
    use.begin(use.outbox(kafka))
    for (let n = 0; n < 200; n += 10) {
      await use.commit(
        outbox,
        Array.from({ length: 10 }, (_, at) => ({
          topic: 't',
          key: `k${(n + at) % 7}`,
          value: `k${(n + at) % 7} ${n + at}`,
        })),
      )
    }
    await eventually(async () => kafka.sent.length === 200)
    for (let key = 0; key < 7; key++) {
      const numbers = kafka.texts
        .filter((text) => text.startsWith(`k${key} `))
        .map((text) => Number(text.split(' ')[1]))
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
    }
    expect(new Set(kafka.ids).size).toBe(200)
  })

  it('skips no row whose transaction commits after those behind it [T305]', async () => {
    const kafka = new Confirming()
    const outbox = use.begin(use.outbox(kafka))
    const late = await use.rig.transaction()
    await outbox.publish(late.tx, { topic: 't', key: 'a', value: 'late' })
    await use.commit(outbox, { topic: 't', key: 'b', value: 'early' })
    await eventually(async () => kafka.texts.includes('early'))
    await late.commit()
    await eventually(async () => kafka.sent.length === 2)
    expect(kafka.texts).toEqual(['early', 'late'])
  })

  it('writes nothing for no messages, and makes no statement of none', async () => {
    const outbox = use.outbox(new Confirming())
    await use.commit(outbox, [])
    expect(await outbox.backlog()).toEqual([])
    expect(() => outbox.statement([])).toThrow('statement: expected at least one message, got none')
  })

  it('writes nothing through a pool, which would write outside of the transaction [T311]', async () => {
    const outbox = use.outbox(new Confirming())
    await expect(outbox.publish(use.rig.pool, { topic: 't', value: 'x' })).rejects.toThrow('got a pool')
    await expect(outbox.publish(use.rig.pool, [])).rejects.toThrow('outside of the transaction')
    expect(await outbox.backlog()).toEqual([])
  })

  it('tells doctor what waits without a relay, what has no publisher, what is refused and what is parked', async () => {
    const kafka = new Confirming()
    kafka.answer = ({ topic }) => {
      if (topic === 'a') throw new BrokerError('BROKER_PUBLISH_REFUSED', 'no such topic')
    }
    const found = async (outbox: SqlOutbox): Promise<readonly string[]> => {
      const consumer = defineConsumer<unknown, unknown, Tx>({
        name: uniqueName('checked'),
        store: use.rig.store(outbox),
        handle: () => {},
      })
      const { findings } = await doctor(consumer)
      for (const { verdict, meaning } of findings) expect(meaning === '').toBe(verdict === 'holds')
      return findings.flatMap(({ check, verdict, found: told }) =>
        check.startsWith('outbox.') ? [`${verdict} ${check}: ${told}`] : [],
      )
    }
    const [quiet, relaying] = [use.outbox(kafka, { relay: false }), use.outbox(kafka, { observe: () => {} })]
    const rights = 'holds outbox.rights: a message was written, and rolled back'
    await quiet.open()
    const fine = 'holds outbox.backlog: nothing is parked, refused or late'
    expect((await found(quiet)).toSorted()).toEqual([fine, rights])
    await use.commit(quiet, [
      { topic: 'a', value: '' },
      { topic: 'c', value: '' },
      { routingKey: 'b', body: '' },
    ])
    expect(await use.rig.rows()).toBe(3)
    expect((await found(quiet)).toSorted()).toEqual([fine, rights])
    await use.rig.age()
    const unpublished = 'weaker outbox.publishers: b: 1 wait, and there is no publisher for RabbitMQ'
    expect((await found(quiet)).toSorted()).toEqual([rights, waitsAt('a'), waitsAt('b'), waitsAt('c')])
    expect((await found(relaying)).toSorted()).toEqual([rights, unpublished, waitsAt('a'), waitsAt('c')])
    use.begin(relaying)
    await eventually(async () => (await relaying.refused()).length === 2)
    expect((await found(relaying)).toSorted()).toEqual([
      rights,
      unpublished,
      'weaker outbox.refused: a: 1 of 1 that wait were refused by the broker',
    ])
    await relaying.stop(0)
    use.begin(use.outbox(kafka, { maxAttempts: 1, observe: () => {} }))
    await relaying.redrive((await relaying.refused()).map(({ id }) => id))
    await eventually(async () => (await relaying.refused()).filter(({ isParked }) => isParked).length === 2)
    const parked = ['weaker outbox.parked: a: 1 parked', 'weaker outbox.parked: b: 1 parked']
    expect((await found(relaying)).toSorted()).toEqual([rights, ...parked])
  })

  it('counts by destination what is published and what is refused, once for all consumers on it', async () => {
    const kafka = new Confirming()
    kafka.answer = ({ value }) => {
      if (String(value) === 'bad') throw new BrokerError('BROKER_PUBLISH_REFUSED', 'it is too large')
    }
    const meter = new Meter()
    const outbox = use.outbox(kafka, { maxAttempts: 1, observe: () => {} })
    const observed = { observe: meter.observe as Observer }
    await use.consume(outbox, { handle: () => {} }, observed)
    await use.consume(outbox, { handle: () => {} }, observed)
    await use.commit(outbox, [
      { topic: 'a', value: '1' },
      { topic: 'a', value: '2' },
      { topic: 'b', value: 'bad' },
    ])
    outbox.wake()
    const counted = (metric: 'outboxPublished' | 'outboxRefused'): Record<string, number> =>
      Object.fromEntries(
        meter.counter(metric).map(({ labels: { destination = '' }, value }) => [destination, value] as const),
      )
    await eventually(async () => counted('outboxPublished')['a'] === 2 && counted('outboxRefused')['b'] === 1)
    expect([counted('outboxPublished'), counted('outboxRefused')]).toEqual([
      { a: 2, b: 0 },
      { a: 0, b: 1 },
    ])
    expect(meter.counter('outboxPublished')).toHaveLength(2)
  })

  it('holds up the line of a message that is refused, and no other; a limit parks it, and a person lets it go [T306]', async () => {
    const kafka = new Confirming()
    let isRefused = true
    kafka.answer = ({ value }) => {
      if (isRefused && String(value) === 'bad') throw new BrokerError('BROKER_PUBLISH_REFUSED', 'it is too large')
    }
    const told: string[] = []
    const outbox = use.begin(use.outbox(kafka, { maxAttempts: 1, observe: (event) => told.push(event.event) }))
    await use.commit(outbox, [
      { topic: 't', key: 'a', value: 'bad' },
      { topic: 't', key: 'a', value: 'behind it' },
      { topic: 't', key: 'b', value: 'other' },
    ])
    await eventually(async () => kafka.texts.includes('other') && kafka.texts.includes('behind it'))
    const [parked, none] = await outbox.refused()
    expect(none).toBeUndefined()
    expect(parked).toMatchObject({ place: 't', key: 'a', cause: 'it is too large', attempts: 1, isParked: true })
    expect(told).toContain('parked')
    expect(await outbox.backlog()).toMatchObject([{ system: 'kafka', place: 't', waiting: 0, parked: 1 }])
    isRefused = false
    expect(await outbox.redrive([parked?.id ?? ''])).toBe(1)
    await eventually(async () => kafka.texts.includes('bad'))
    await eventually(async () => (await use.rig.rows()) === 0)
  })

  it('tells what was refused in the order of the messages, also from the tenth on', async () => {
    const kafka = new Confirming()
    kafka.answer = () => {
      throw new BrokerError('BROKER_PUBLISH_REFUSED', 'it is too large')
    }
    const outbox = use.begin(use.outbox(kafka, { maxAttempts: 1, observe: () => {} }))
    const ids = Array.from({ length: 12 }, (_, at) => `message ${at}`)
    for (const id of ids) await use.commit(outbox, { topic: 't', key: id, messageId: id, value: '' })
    await eventually(async () => (await outbox.refused()).length === ids.length)
    expect((await outbox.refused()).map((one) => one.messageId)).toEqual(ids)
  })

  it('tells what one message has published and no broker has confirmed: what waits, and what was refused', async () => {
    const kafka = new Confirming()
    kafka.answer = ({ messageId: id }) => {
      if (id.endsWith('-1')) throw new BrokerError('BROKER_PUBLISH_REFUSED', 'it is too large')
    }
    const [one, other] = [identityOfOrder('order-17'), identityOfOrder('order-18')]
    const outbox = use.begin(use.outbox(kafka, { maxAttempts: 1, observe: () => {} }))
    await use.commit(outbox, { topic: 't', key: 'a', messageId: `${one.idempotencyKey}-1`, value: '' })
    await eventually(async () => (await outbox.refused()).length === 1)
    await outbox.stop(0)
    await use.commit(outbox, [
      { topic: 't', key: 'b', messageId: `${other.idempotencyKey}-0`, value: '' },
      { topic: 'u', key: 'b', messageId: `${one.idempotencyKey}-0`, value: '' },
      // Not even all characters of the key.
      { topic: 'u', key: 'b', messageId: one.idempotencyKey.slice(0, 21), value: '' },
    ])
    expect(await outbox.unconfirmedOf(one.key)).toMatchObject([
      { place: 't', messageId: `${one.idempotencyKey}-1`, cause: 'it is too large', isParked: true, attempts: 1 },
      { place: 'u', messageId: `${one.idempotencyKey}-0`, cause: undefined, isParked: false, attempts: 0 },
    ])
    expect(await outbox.unconfirmedOf(identityOfOrder('order-19').key)).toEqual([])
  })

  it('warns once of a place that refuses, and again of the next incident there', async () => {
    const kafka = new Confirming()
    const refuses = new Set(['first', 'second', 'third'])
    kafka.answer = ({ messageId: id }) => {
      if (refuses.has(id)) throw new BrokerError('BROKER_PUBLISH_REFUSED', `no ${id}:\n- why`)
    }
    const warned: string[] = []
    const emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation((text) => void warned.push(String(text)))
    try {
      const outbox = use.begin(use.outbox(kafka))
      const place = uniqueName('place')
      const commit = (id: string) => use.commit(outbox, { topic: place, key: id, messageId: id, value: '' })
      await commit('first')
      await eventually(() => warned.length === 1)
      await commit('second')
      await eventually(async () => (await outbox.refused()).length === 2)
      expect(warned).toHaveLength(1)
      refuses.delete('second')
      await commit('mended')
      await eventually(() => kafka.ids.includes('mended'))
      await commit('third')
      await eventually(() => warned.some((text) => text.includes('no third: - why')))
      expect(warned[0]).toContain(`could not publish first to ${place}, and it is tried again: `)
      expect(warned.filter((text) => text.includes('third'))).toHaveLength(1)
      expect(warned.some((text) => text.includes('\n'))).toBe(false)
    } finally {
      emitWarning.mockRestore()
    }
  })

  it('waits behind a message that failed, as long as that is tried again', async () => {
    const kafka = new Confirming()
    let failures = 1
    kafka.answer = ({ value }) => {
      if (String(value) === 'first' && failures-- > 0) throw new BrokerError('BROKER_PUBLISH_REFUSED', 'no topic yet')
    }
    const outbox = use.begin(use.outbox(kafka))
    await use.commit(outbox, [
      { topic: 't', key: 'a', value: 'first' },
      { topic: 't', key: 'a', value: 'second' },
      { topic: 't', key: 'b', value: 'other' },
    ])
    await eventually(async () => kafka.sent.length === 3)
    expect(kafka.texts).toEqual(['other', 'first', 'second'])
  })

  it('keeps the order of a line behind a message that is refused, however many wait there, and meets them once', async () => {
    const kafka = new Confirming()
    let isRefused = true
    kafka.answer = ({ value }) => {
      if (isRefused && String(value) === 'a 0') throw new BrokerError('BROKER_PUBLISH_REFUSED', 'no topic yet')
    }
    const outbox = use.begin(use.outbox(kafka, { observe: () => {} }))
    await outbox.open()
    const behind = Array.from({ length: 1_200 }, (_, n) => `a ${n}`)
    for (let at = 0; at < behind.length; at += 300) {
      await use.commit(
        outbox,
        behind.slice(at, at + 300).map((value) => ({ topic: 't', key: 'a', value })),
      )
    }
    await eventually(async () => (await use.rig.due()) === 0)
    await use.commit(outbox, { topic: 't', key: 'b', value: 'other' })
    await eventually(async () => kafka.texts.includes('other'))
    expect(kafka.texts).toEqual(['other'])
    expect((await outbox.refused()).map(({ cause }) => cause)).toEqual(['no topic yet'])
    isRefused = false
    await use.commit(outbox, { topic: 't', key: 'a', value: 'a 1200' })
    await eventually(async () => (await use.rig.rows()) === 0)
    expect(kafka.texts.slice(1)).toEqual([...behind, 'a 1200'])
  })

  // Rows stayed locked during a redelivery: https://github.com/MassTransit/MassTransit/issues/4299
  it('lets handlers publish while the broker answers nothing, with the same key too', async () => {
    const kafka = new Confirming()
    const answers: (() => void)[] = []
    kafka.answer = () => new Promise((resolve) => void answers.push(resolve))
    const { send } = await use.consume(use.outbox(kafka), {
      handle: async ({ payload, tx, publish, attempt }) => {
        await use.rig.write(tx, `charge ${payload.n}`)
        await publish({ topic: 't', key: 'a', value: String(payload.n) })
        if (attempt === 1) throw new Error('not yet')
      },
    })
    send(1)
    await eventually(() => answers.length === 1)
    send(2, 3)
    await eventually(async () => (await use.rig.committed('charge 2')) + (await use.rig.committed('charge 3')) === 2)
    expect(kafka.sent).toEqual([])
    await eventually(async () => {
      for (const answer of answers.splice(0)) answer()
      return (await use.rig.rows()) === 0
    })
    expect(kafka.texts.toSorted()).toEqual(['1', '2', '3'])
  })

  it('counts no attempt while the broker is down', async () => {
    const kafka = new Confirming()
    let isDown = true
    kafka.answer = () => {
      if (isDown) throw new BrokerError('BROKER_UNREACHABLE', 'nobody there')
    }
    const told: string[] = []
    const outbox = use.begin(use.outbox(kafka, { maxAttempts: 1, observe: (event) => told.push(event.event) }))
    await use.commit(outbox, { topic: 't', value: 'x' })
    await eventually(async () => told.includes('waits'))
    expect(await outbox.backlog()).toMatchObject([{ waiting: 1, failing: 0, parked: 0 }])
    isDown = false
    await eventually(async () => kafka.sent.length === 1)
  })

  it('is refused under a store without one, with what to do, and after the end of the handler [T307]', async () => {
    const kafka = new Confirming()
    let kept: ((message: { topic: string; value: string }) => Promise<string>) | undefined
    const { broker, send } = await use.consume(undefined, {
      handle: async ({ publish }) => publish({ topic: 't', value: '' }),
    })
    send(1)
    await eventually(async () => broker.deadLetters.length === 1)
    expect(broker.deadLetters[0]?.detail).toContain('expected a store with an outbox')
    const other = await use.consume(use.outbox(kafka), {
      handle: async ({ publish }) => {
        kept = publish
        await publish({ topic: 't', value: 'in time' })
      },
    })
    other.send(2)
    await eventually(async () => kafka.sent.length === 1)
    expect(() => kept?.({ topic: 't', value: 'late' })).toThrow('the handler has ended')
  })

  it('takes what a function publishes that is called once, under the IDs of its key, and nothing of one that fails [T308]', async () => {
    const kafka = new Confirming()
    const outbox = use.begin(use.outbox(kafka))
    const store = use.rig.store(outbox)
    const keys: string[] = []
    const call = (isFailing: boolean): Promise<unknown> =>
      once(store, 'payment-1', async ({ publish, idempotencyKey, attempt }) => {
        keys.push(`${idempotencyKey}-0`, await publish({ topic: 'paid', value: `attempt ${attempt}` }))
        if (isFailing) throw new Error('declined')
      })
    await expect(call(true)).rejects.toThrow('declined')
    await call(false)
    await call(false)
    await eventually(async () => kafka.sent.length > 0 && (await use.rig.rows()) === 0)
    expect(kafka.texts).toEqual(['attempt 2'])
    expect(new Set([...keys, ...kafka.ids]).size).toBe(1)
    await expect(once(memoryStore(), 'x', ({ publish }) => publish({ topic: 't', value: '' }))).rejects.toThrow(
      'a lease, which has no transaction',
    )
  })
}

function identityOfOrder(id: string): Identity {
  return identityOf([Buffer.from('orders')], Buffer.from(id))
}
