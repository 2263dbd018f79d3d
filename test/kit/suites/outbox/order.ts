import { expect, it } from '@jest/globals'
import { BrokerError } from '../../../../src/index.ts'
import { eventually } from '../../eventually.ts'
import { Confirming } from './confirming.ts'
import type { OutboxUse } from './use.ts'

/** The lines of keys, and those who wait behind a message that is refused. */
export function itKeepsTheOrder<Tx>(use: OutboxUse<Tx>): void {
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
    // What the broker has taken is told before its row is gone.
    await eventually(async () => (await outbox.backlog())[0]?.waiting === 0)
    expect(await outbox.backlog()).toMatchObject([{ system: 'kafka', place: 't', waiting: 0, parked: 1 }])
    isRefused = false
    expect(await outbox.redrive([parked?.id ?? ''])).toBe(1)
    await eventually(async () => kafka.texts.includes('bad'))
    await eventually(async () => (await use.rig.rows()) === 0)
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
}
