import { describe, expect, it } from '@jest/globals'
import { dashboard } from '../../../dashboard/server/index.ts'
import type { JobInfo } from '../../../dashboard/api.ts'
import { Page, pagesFolder } from '../../kit/dashboard.ts'
import { eventually } from '../../kit/eventually.ts'
import { redrivesOf, replaysOf } from '../../../src/replay/index.ts'
import { CONSUMER as consumer, ended, MemoryBoard, numbered, writable } from './memory-board.ts'

describe('a redrive of what was found', () => {
  it('lets a message run that was given up: reopen, redrive, handled', async () => {
    await using made = new MemoryBoard(writable())
    await made.sendFailing('given-up', ['g'])
    await made.send(['ok'])
    const looked = await made.looked()
    expect(looked.result).toMatchObject({ looked: 1, totals: { redriven: 1 }, sample: [{ outcome: 'redriven' }] })
    expect(Object.keys(looked.result?.reasons ?? {})).toHaveLength(1)
    const wrong = { consumer, look: looked.id, reason: 'OPS-2', confirm: 2 }
    expect((await made.post('POST api/dead-letters/redrive', wrong)).status).toBe(400)
    const started = await made.post('POST api/dead-letters/redrive', { ...wrong, confirm: 1 })
    expect(await ended(made, started.answer)).toMatchObject({ state: 'finished', result: { totals: { redriven: 1 } } })
    await made.broker.drained('sms', 'workers')
    expect(made.handled).toEqual(['ok', 'g'])
  })

  it('sends nothing back that was dead-lettered after the look', async () => {
    await using made = new MemoryBoard(writable())
    await made.sendFailing('given-up', ['g1'])
    const looked = await made.looked()
    await made.sendFailing('given-up', ['late1', 'late2'])
    const redrive = { consumer, look: looked.id, reason: 'OPS-2', confirm: 1 }
    const started = await made.post('POST api/dead-letters/redrive', redrive)
    expect(await ended(made, started.answer)).toMatchObject({ result: { totals: { redriven: 1 } } })
    await made.broker.drained('sms', 'workers')
    expect(made.handled).toEqual(['g1'])
  })
})

describe('a redrive', () => {
  it('is listed among the replays with its ID, state, counts, who and why, and has a report', async () => {
    const options = writable()
    await using made = new MemoryBoard(options)
    const { id, job } = await redriveBegun(made, 10_000)
    await ended(made, job)
    const readers = new Page(dashboard({ consumers: [made.entry], pages: pagesFolder(), ...options, readOnly: true }))
    const { answer: session } = await readers.get('GET api/session', {})
    expect(session.consumers[0]?.can).toMatchObject({ replay: true })
    const { answer: list } = await readers.get('GET api/replays', { consumer })
    const status = { id, kind: 'redrive', status: 'finished', by: 'ana', reason: 'OPS-5', of: 20, left: 0 }
    expect(list.replays).toMatchObject([{ ...status, from: 'memory:dead-letters', totals: { redriven: 20, done: 0 } }])
    const { answer: one } = await readers.get('GET api/replay', { consumer, id })
    expect(one).toMatchObject({ status, hasReport: true })
    expect(one.plan).toBeUndefined()
    const report = await readers.raw(`api/replay/report?consumer=${encodeURIComponent(consumer)}&id=${id}&format=csv`)
    expect(report.headers.get('content-disposition')).toBe(`attachment; filename="${id}.csv"`)
    const lines = (await report.text()).trim().split('\n')
    expect([lines.length, lines[0]]).toEqual([21, 'part,position,key,reason,outcome,destination,at'])
    const over = await made.post('POST api/replays/abort', { consumer, id, reason: 'OPS-6' })
    expect([over.status, over.error.code]).toEqual([409, 'REPLAY_REFUSED'])
    const denied = await readers.post('POST api/replays/abort', { consumer, id, reason: 'OPS-6' })
    expect(denied.status).toBe(405)
  })

  it('is paused and aborted; the audit has who and why', async () => {
    await using made = new MemoryBoard(writable())
    const { id, job, again } = await redriveBegun(made, 2)
    const redrives = redrivesOf(made.entry.consumer, made.entry.subscription)
    const status = async (): Promise<string | undefined> => (await redrives.list())[0]?.status
    await eventually(async () => (await status()) === 'running')
    expect((await made.post('POST api/replays/pause', { consumer, id, reason: ' ' })).status).toBe(400)
    const paused = await made.post('POST api/replays/pause', { consumer, id, reason: 'the provider is slow' })
    expect(paused.answer).toMatchObject({ id, kind: 'redrive', request: 'pause' })
    expect(await ended(made, job)).toMatchObject({ result: { status: 'paused' } })
    expect(await status()).toBe('paused')
    const aborted = await made.post('POST api/replays/abort', { consumer, id, reason: 'wrong version' })
    expect(aborted.answer).toMatchObject({ id, kind: 'redrive', status: 'aborted' })
    expect(await again()).toMatchObject({ state: 'failed', error: { code: 'REPLAY_REFUSED' } })
    await made.broker.drained('sms', 'workers')
    expect(made.handled.length).toBeLessThan(20)
    const { answer: audit } = await made.get('GET api/audit', { consumer })
    const notes = audit.entries.filter(({ about }) => about === id)
    expect(notes.map(({ decision, by, reason }) => [decision, by, reason])).toEqual([
      ['abort', 'ana', 'wrong version'],
      ['pause', 'ana', 'the provider is slow'],
      ['start', 'ana', 'OPS-5'],
    ])
  })
})

describe('the dead letters of one message', () => {
  it.each(['id', 'key'] as const)('are found by its %s among others, and only they are sent back', async (by) => {
    await using made = new MemoryBoard(writable())
    await made.sendFailing('given-up', ['g1', 'g2'])
    const { answer } = await made.get('GET api/message', { consumer, id: 'g2' })
    const only = by === 'id' ? { id: 'g2' } : { key: answer.records[0]?.key ?? '' }
    const looked = await made.looked(only)
    expect(looked.result).toMatchObject({ looked: 2, totals: { redriven: 1, filtered: 1 }, only })
    expect(looked.result?.sample).toMatchObject([{ key: answer.records[0]?.key, outcome: 'redriven' }])
    const redrive = { consumer, look: looked.id, reason: 'OPS-2', confirm: 1 }
    await ended(made, (await made.post('POST api/dead-letters/redrive', redrive)).answer)
    await made.broker.drained('sms', 'workers')
    expect(made.handled).toEqual(['g2'])
  })

  it('are asked for by one of both', async () => {
    await using made = new MemoryBoard(writable())
    const asked = { consumer, id: 'a', key: 'k'.repeat(22) }
    expect((await new Page(made.board).post('POST api/dead-letters/look', asked)).status).toBe(400)
  })
})

describe('a replay', () => {
  it('is planned, started after its count is confirmed, told about, and reported', async () => {
    await using made = new MemoryBoard(writable())
    await made.sendFailing('given-up', ['g1', 'g2'])
    await made.send(['ok'])
    const planned = await made.planned()
    expect(planned.result).toMatchObject({
      total: 3,
      toHandle: 2,
      buckets: { done: { count: 1 }, 'given-up': { count: 2 } },
    })
    const start = { consumer, plan: planned.id, reason: 'OPS-3', confirm: 3, rate: 1_000 }
    expect((await made.post('POST api/replays/start', start)).status).toBe(400)
    const started = await made.post('POST api/replays/start', { ...start, confirm: 2 })
    expect(await ended(made, started.answer)).toMatchObject({ state: 'finished', result: { totals: { handled: 2 } } })
    expect(made.handled.toSorted()).toEqual(['g1', 'g2', 'ok'])
    const { answer: list } = await made.get('GET api/replays', { consumer })
    expect(list.replays).toMatchObject([{ status: 'finished', by: 'ana', reason: 'OPS-3', left: 0 }])
    const id = list.replays[0]?.id ?? ''
    const { answer: one } = await made.get('GET api/replay', { consumer, id })
    expect(one).toMatchObject({ status: { id }, plan: { total: 3 }, hasReport: true })
    const path = `api/replay/report?consumer=${encodeURIComponent(consumer)}&id=${id}&format=csv`
    const report = await made.raw(path)
    expect(report.headers.get('content-disposition')).toBe(`attachment; filename="replay-${id}.csv"`)
    expect((await report.text()).trim().split('\n')).toHaveLength(4)
    const over = await made.post('POST api/replays/pause', { consumer, id, reason: 'OPS-2' })
    expect([over.status, over.error.code]).toEqual([409, 'REPLAY_REFUSED'])
    const { answer: audit } = await made.get('GET api/audit', { consumer })
    expect(audit.entries.filter(({ about }) => about === `replay ${id}`)).toMatchObject([
      { decision: 'start', by: 'ana', key: '' },
    ])
  })

  it('reads no file of the server, and no other place', async () => {
    await using made = new MemoryBoard(writable())
    await made.send(['ok'])
    for (const from of ['file:/etc/passwd', 'memory:other', 'sms', 'memory:sms@x', 'file:-']) {
      expect((await made.post('POST api/plans', { consumer, from })).status).toBe(400)
    }
  })

  it('is paused when the dashboard ends, and goes on in another one', async () => {
    const options = writable()
    await using made = new MemoryBoard(options)
    await made.sendFailing('given-up', numbered(50))
    const planned = await made.planned()
    const start = { consumer, plan: planned.id, reason: 'OPS-4', confirm: 50, rate: 20 }
    await made.post('POST api/replays/start', start)
    await made.board.close()
    const next = new Page(dashboard({ consumers: [made.entry], pages: pagesFolder(), ...options }))
    const { answer: list } = await next.get('GET api/replays', { consumer })
    expect(list.replays).toMatchObject([{ status: 'paused', because: 'stopped' }])
    const [paused] = list.replays
    const { id: resume, left: confirm } = paused ?? { id: '', left: 0 }
    const again = { consumer, resume, reason: 'OPS-4', confirm, rate: 10_000 }
    const resumed = await next.post('POST api/replays/start', again)
    expect(await ended(next, resumed.answer)).toMatchObject({ state: 'finished', result: { totals: { handled: 50 } } })
  })

  it('is paused and resumed with a reason, and the audit has who and why', async () => {
    await using made = new MemoryBoard(writable())
    await made.sendFailing('given-up', numbered(50))
    const planned = await made.planned()
    const start = { consumer, plan: planned.id, reason: 'OPS-4', confirm: 50, rate: 2 }
    await made.post('POST api/replays/start', start)
    const id = planned.result?.id ?? ''
    const stop = (what: 'pause' | 'abort', reason: string): Promise<{ readonly status: number }> =>
      made.post(`POST api/replays/${what}`, { consumer, id, reason })
    const replays = replaysOf(made.entry.consumer, made.entry.subscription)
    const status = async (): Promise<string | undefined> => (await replays.list())[0]?.status
    await eventually(async () => (await status()) === 'running')
    expect((await stop('pause', ' ')).status).toBe(400)
    expect((await stop('pause', 'the provider is slow')).status).toBe(200)
    await eventually(async () => (await status()) === 'paused')
    const { answer: found } = await made.get('GET api/replay', { consumer, id })
    const again = { consumer, resume: id, reason: 'the provider is ready', confirm: found.status.left, rate: 2 }
    expect((await made.post('POST api/replays/start', again)).status).toBe(200)
    await eventually(async () => (await status()) === 'running')
    expect((await stop('abort', 'wrong range')).status).toBe(200)
    await eventually(async () => (await status()) === 'aborted')
    const { answer: audit } = await made.get('GET api/audit', { consumer })
    const notes = audit.entries.filter(({ about }) => about !== undefined)
    expect(notes.map(({ decision, by, reason, about }) => [decision, by, reason, about])).toEqual([
      ['abort', 'ana', 'wrong range', `replay ${id}`],
      ['resume', 'ana', 'the provider is ready', `replay ${id}`],
      ['pause', 'ana', 'the provider is slow', `replay ${id}`],
      ['start', 'ana', 'OPS-4', `replay ${id}`],
    ])
  })
})

/** A redrive of 20 dead letters. `again`: the same look is confirmed once more. */
async function redriveBegun(
  made: MemoryBoard,
  rate: number,
): Promise<{ readonly id: string; readonly job: JobInfo; readonly again: () => Promise<JobInfo> }> {
  await made.sendFailing('given-up', numbered(20))
  const looked = await made.looked()
  const id = looked.result?.id ?? ''
  const asked = { consumer, look: looked.id, reason: 'OPS-5', confirm: 20 }
  const { answer: job } = await made.post('POST api/dead-letters/redrive', { ...asked, rate })
  const again = async (): Promise<JobInfo> =>
    ended(made, (await made.post('POST api/dead-letters/redrive', { ...asked, rate: 10_000 })).answer)
  return { id, job, again }
}
