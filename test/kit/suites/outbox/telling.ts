import { expect, it, jest } from '@jest/globals'
import type { SqlOutbox } from '../../../../adapters/sql/outbox/types.ts'
import { BrokerError, defineConsumer, doctor, type Observer } from '../../../../src/index.ts'
import { identityOf, type Identity } from '../../../../src/identity/digest.ts'
import { Meter } from '../../../../src/signals/meter.ts'
import { eventually } from '../../eventually.ts'
import { uniqueName } from '../../namespace.ts'
import { Confirming } from './confirming.ts'
import type { OutboxUse } from './use.ts'

const waitsAt = (place: string): string => `weaker outbox.relay: ${place}: 1 wait, the oldest for 1 h`

/** What people, doctor and monitoring learn of it. */
export function itTellsWhatWaits<Tx>(use: OutboxUse<Tx>): void {
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
}

function identityOfOrder(id: string): Identity {
  return identityOf([Buffer.from('orders')], Buffer.from(id))
}
