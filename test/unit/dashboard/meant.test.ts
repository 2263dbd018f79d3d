// Redrives of some of the dead letters: by reason, time, field, and key.
import { describe, expect, it } from '@jest/globals'
import type { Meant } from '../../../dashboard/api.ts'
import { CONSUMER, ended, MemoryBoard, writable } from './memory-board.ts'

describe('a look at some of the dead letters', () => {
  it('is by reason, by time, by a field or a header, and by key, and tells what each would do', async () => {
    await using made = new MemoryBoard(writable())
    await made.sendFailing('given-up', ['a', 'b'])
    await made.sendFailing('parked', ['c'])
    const [a] = (await made.get('GET api/message', { consumer: CONSUMER, id: 'a' })).answer.records
    const { key = '', idempotencyKey = '' } = a ?? {}
    const now = Date.now()
    const cases: readonly (readonly [Meant, found: number, redriven: number])[] = [
      [{}, 3, 2],
      [{ reasons: ['handler-failed'] }, 2, 2],
      [{ reasons: ['in-doubt'] }, 1, 0],
      [{ since: now - 60_000 }, 3, 2],
      [{ until: now - 60_000 }, 0, 0],
      [{ where: ['/to=b'] }, 1, 1],
      [{ where: ['$message.header#/id|=b,c'], reasons: ['handler-failed'] }, 1, 1],
      [{ key }, 1, 1],
      [{ key: idempotencyKey }, 1, 1],
      [{ key: `${idempotencyKey}-2` }, 1, 1],
    ]
    for (const [only, meant, redriven] of cases) {
      const { result } = await made.looked(only)
      expect([only, result?.sample.length, result?.totals.redriven]).toEqual([only, meant, redriven])
    }
    const { result } = await made.looked({ key })
    expect(result?.sample).toMatchObject([
      { key, outcome: 'redriven', reason: 'handler-failed', setAsideBy: CONSUMER, destination: 'sms' },
    ])
    expect(result?.sample[0]?.since).toBeGreaterThan(now - 60_000)
    expect(result?.sample[0]?.id).toBeUndefined()
  })

  it('sends back only those that it found, and the audit has who did it', async () => {
    await using made = new MemoryBoard(writable())
    await made.sendFailing('given-up', ['a', 'b'])
    const { id } = await made.looked({ where: ['/to=b'] })
    const asked = { consumer: CONSUMER, look: id, reason: 'OPS-1', confirm: 1 }
    const done = await ended(made, (await made.post('POST api/dead-letters/redrive', asked)).answer)
    expect(done).toMatchObject({ state: 'finished', result: { totals: { redriven: 1, filtered: 1 } } })
    await made.broker.drained('sms', 'workers')
    expect(made.handled).toEqual(['b'])
    const { entries } = (await made.get('GET api/audit', { consumer: CONSUMER })).answer
    expect(entries.map(({ by, decision }) => [by, decision])).toEqual([
      ['ana', 'reopen'],
      ['ana', 'start'],
    ])
  })

  it('refuses a condition, a reason and a key that are none, each with what was expected', async () => {
    await using made = new MemoryBoard(writable())
    const wrong: readonly (readonly [Meant, string])[] = [
      [{ where: ['to=b'] }, 'expected $message.payload#/pointer'],
      [{ reasons: ['sms'] }, 'handler-failed'],
      [{ since: 2, until: 1 }, 'expected a time after since'],
    ]
    for (const [only, message] of wrong) {
      expect(await made.looked(only)).toMatchObject({
        state: 'failed',
        error: { status: 400, message: expect.stringContaining(message) },
      })
    }
    const { status, error } = await made.post('POST api/dead-letters/look', { consumer: CONSUMER, key: 'short' })
    expect([status, error.message]).toEqual([400, expect.stringContaining('an idempotency key of 43')])
  })
})
