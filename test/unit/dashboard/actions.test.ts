import { describe, expect, it } from '@jest/globals'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveHealth } from '../../../adapters/health/index.ts'
import { dashboard, type DashboardOptions } from '../../../dashboard/server/index.ts'
import type { JobInfo } from '../../../dashboard/api.ts'
import { defineConsumer, StoreError, type Store } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import type { ListQuery, RecordPage, StoreAdmin } from '../../../src/internal.ts'
import { Page, pagesFolder } from '../../kit/dashboard.ts'
import { eventually } from '../../kit/eventually.ts'
import { redrivesOf, replaysOf } from '../../../src/replay/index.ts'
import { ManualClock } from '../../kit/manual-clock.ts'
import { CONSUMER, MemoryBoard } from './memory-board.ts'

const consumer = CONSUMER

const writable = (): Partial<DashboardOptions> => ({
  readOnly: false,
  auth: () => ({ by: 'ana' }),
  journals: mkdtempSync(join(tmpdir(), 'consume-once-journals-')),
})

const byUser = (request: Request): { by: string } => ({ by: request.headers.get('x-user') ?? '' })

const unreachable = (): Promise<never> => Promise.reject(new StoreError('STORE_UNREACHABLE', 'connection refused'))

async function ended(page: Page, { id }: JobInfo): Promise<JobInfo> {
  for (;;) {
    const { answer } = await page.get('GET api/job', { id })
    if (answer.state !== 'running') return answer
    // Requests are limited, and a job may write to a disk.
    await new Promise((resolve) => void setTimeout(resolve, 20))
  }
}

describe('a decision', () => {
  it('is previewed, confirmed with a reason, carried out once, and in the audit with who and why', async () => {
    await using made = new MemoryBoard(writable())
    for (const id of ['p1', 'p2']) made.failing.set(id, 'parked')
    await made.send(['p1', 'p2', 'ok'])
    const page = new Page(made.board)
    const { answer: shown } = await page.post('POST api/decisions/preview', {
      consumer,
      decision: 'done',
      matching: { state: 'parked' },
    })
    expect(shown).toMatchObject({ changing: 2, already: 0, refused: 0, hasMore: false, decision: 'done' })
    expect(shown.rows.map(({ verdict }) => verdict)).toEqual(['decided', 'decided'])
    const { token } = shown
    const refused = [
      await page.post('POST api/decisions', { consumer, token, reason: ' ', confirm: 2 }),
      await page.post('POST api/decisions', { consumer, token, reason: 'OPS-1', confirm: 1 }),
      await page.post('POST api/decisions', { consumer, token: 'guessed', reason: 'OPS-1', confirm: 2 }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 409])
    const { answer } = await page.post('POST api/decisions', { consumer, token, reason: 'OPS-1', confirm: 2 })
    expect(answer).toMatchObject({ decided: 2, refused: 0 })
    const again = await page.post('POST api/decisions', { consumer, token, reason: 'OPS-1', confirm: 2 })
    expect([again.status, again.error.code]).toEqual([409, 'HTTP_PREVIEW'])
    const { answer: found } = await page.get('GET api/message', { consumer, id: 'p1' })
    expect(found.records).toMatchObject([
      {
        state: 'done',
        decisions: ['forget'],
        audit: [{ by: 'ana', reason: 'OPS-1', decision: 'done', before: 'parked' }],
      },
    ])
    const { answer: audit } = await page.get('GET api/audit', { consumer })
    expect(audit.entries).toHaveLength(2)
  })

  it('leaves a record alone that has changed since it was shown', async () => {
    await using made = new MemoryBoard(writable())
    made.failing.set('p', 'parked')
    await made.send(['p'])
    const page = new Page(made.board)
    const asked = { consumer, decision: 'rerun', matching: { state: 'parked' } } as const
    const { answer: first } = await page.post('POST api/decisions/preview', asked)
    const { answer: second } = await page.post('POST api/decisions/preview', { ...asked, decision: 'done' })
    await page.post('POST api/decisions', { consumer, token: second.token, reason: 'it arrived', confirm: 1 })
    const late = await page.post('POST api/decisions', { consumer, token: first.token, reason: 'again', confirm: 1 })
    expect(late.answer).toMatchObject({ decided: 0, refused: 1 })
    const { answer } = await page.get('GET api/message', { consumer, id: 'p' })
    expect(answer.records[0]?.state).toBe('done')
  })

  it('takes a record for the same though its store tells its mark some milliseconds later, as Redis may', async () => {
    const store = memoryStore()
    const admin = store.admin as StoreAdmin
    const peek = admin.peek.bind(admin)
    let laterMs = 0
    admin.peek = async (...asked) =>
      (await peek(...asked)).map((record) => {
        laterMs += 3
        return record.since === undefined ? record : { ...record, since: record.since + laterMs }
      })
    await using made = new MemoryBoard(writable(), store)
    await made.send(['a'])
    const page = new Page(made.board)
    const { answer: found } = await page.get('GET api/message', { consumer, id: 'a' })
    const asked = { consumer, decision: 'forget', keys: found.records.map(({ key }) => key) } as const
    const { answer: shown } = await page.post('POST api/decisions/preview', asked)
    const confirmed = { consumer, token: shown.token, reason: 'lost by the provider', confirm: 1 }
    const { answer } = await page.post('POST api/decisions', confirmed)
    expect(answer).toMatchObject({ decided: 1, refused: 0 })
  })

  it('belongs to the person who saw its preview', async () => {
    await using made = new MemoryBoard({ ...writable(), auth: byUser })
    made.failing.set('p', 'parked')
    await made.send(['p'])
    const [ana, ben] = ['ana', 'ben'].map((user) => new Page(made.board, { headers: { 'x-user': user } }))
    const asked = { consumer, decision: 'done', matching: { state: 'parked' } } as const
    const token = (await ana?.post('POST api/decisions/preview', asked))?.answer.token ?? ''
    const taken = await ben?.post('POST api/decisions', { consumer, token, reason: 'mine', confirm: 1 })
    expect(taken?.status).toBe(409)
  })

  it('lets a message run that was given up: reopen, redrive, handled', async () => {
    await using made = new MemoryBoard(writable())
    made.failing.set('g', 'given-up')
    await made.send(['g', 'ok'])
    made.failing.clear()
    const page = new Page(made.board)
    const looked = await ended(page, (await page.post('POST api/dead-letters/look', { consumer })).answer)
    if (looked.kind !== 'dead-letters') throw new Error(`a job of kind ${looked.kind}`)
    expect(looked.result).toMatchObject({ looked: 1, totals: { redriven: 1 }, sample: [{ outcome: 'redriven' }] })
    expect(Object.keys(looked.result?.reasons ?? {})).toHaveLength(1)
    const wrong = { consumer, look: looked.id, reason: 'OPS-2', confirm: 2 }
    expect((await page.post('POST api/dead-letters/redrive', wrong)).status).toBe(400)
    const started = await page.post('POST api/dead-letters/redrive', { ...wrong, confirm: 1 })
    expect(await ended(page, started.answer)).toMatchObject({ state: 'finished', result: { totals: { redriven: 1 } } })
    await made.broker.drained('sms', 'workers')
    expect(made.handled).toEqual(['ok', 'g'])
  })
})

describe('a redrive of what was found', () => {
  it('sends nothing back that was dead-lettered after the look', async () => {
    await using made = new MemoryBoard(writable())
    for (const id of ['g1', 'late1', 'late2']) made.failing.set(id, 'given-up')
    await made.send(['g1'])
    const page = new Page(made.board)
    const looked = await ended(page, (await page.post('POST api/dead-letters/look', { consumer })).answer)
    await made.send(['late1', 'late2'])
    made.failing.clear()
    const redrive = { consumer, look: looked.id, reason: 'OPS-2', confirm: 1 }
    const started = await page.post('POST api/dead-letters/redrive', redrive)
    expect(await ended(page, started.answer)).toMatchObject({ result: { totals: { redriven: 1 } } })
    await made.broker.drained('sms', 'workers')
    expect(made.handled).toEqual(['g1'])
  })
})

describe('a redrive', () => {
  it('is listed among the replays with its ID, state, counts, who and why, and has a report', async () => {
    const options = writable()
    await using made = new MemoryBoard(options)
    const page = new Page(made.board)
    const { id, job } = await redriveBegun(made, page, 10_000)
    await ended(page, job)
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
    const over = await page.post('POST api/replays/abort', { consumer, id, reason: 'OPS-6' })
    expect([over.status, over.error.code]).toEqual([409, 'REPLAY_REFUSED'])
    const denied = await readers.post('POST api/replays/abort', { consumer, id, reason: 'OPS-6' })
    expect(denied.status).toBe(405)
  })

  it('is paused and aborted; the audit has who and why', async () => {
    await using made = new MemoryBoard(writable())
    const page = new Page(made.board)
    const { id, job, again } = await redriveBegun(made, page, 2)
    const redrives = redrivesOf(made.entry.consumer, made.entry.subscription)
    const status = async (): Promise<string | undefined> => (await redrives.list())[0]?.status
    await eventually(async () => (await status()) === 'running')
    expect((await page.post('POST api/replays/pause', { consumer, id, reason: ' ' })).status).toBe(400)
    const paused = await page.post('POST api/replays/pause', { consumer, id, reason: 'the provider is slow' })
    expect(paused.answer).toMatchObject({ id, kind: 'redrive', request: 'pause' })
    expect(await ended(page, job)).toMatchObject({ result: { status: 'paused' } })
    expect(await status()).toBe('paused')
    const aborted = await page.post('POST api/replays/abort', { consumer, id, reason: 'wrong version' })
    expect(aborted.answer).toMatchObject({ id, kind: 'redrive', status: 'aborted' })
    expect(await again()).toMatchObject({ state: 'failed', error: { code: 'REPLAY_REFUSED' } })
    await made.broker.drained('sms', 'workers')
    expect(made.handled.length).toBeLessThan(20)
    const { answer: audit } = await page.get('GET api/audit', { consumer })
    const notes = audit.entries.filter(({ about }) => about === id)
    expect(notes.map(({ decision, by, reason }) => [decision, by, reason])).toEqual([
      ['abort', 'ana', 'wrong version'],
      ['pause', 'ana', 'the provider is slow'],
      ['start', 'ana', 'OPS-5'],
    ])
  })
})

describe('a request with a name that nobody knows', () => {
  it('is refused, and does nothing: a limit of it may be misspelt', async () => {
    await using made = new MemoryBoard(writable())
    const page = new Page(made.board)
    const plan = { consumer, from: 'memory:sms' }
    const asked = [
      page.post('POST api/plans', { ...plan, sinse: 1 } as typeof plan),
      page.post('POST api/plans', { ...plan, rules: { agian: true } as object }),
      page.post('POST api/dead-letters/look', { consumer, idz: 'a' } as { consumer: string }),
      page.post('POST api/decisions/preview', {
        consumer,
        decision: 'done',
        matching: { state: 'parked', befor: 1 } as { state: 'parked' },
      }),
      page.get('GET api/records', { consumer, state: 'parked', reasons: 'x' } as { consumer: string; state: 'parked' }),
      page.get('GET api/session', { x: '1' }),
    ]
    const answers = await Promise.all(asked)
    expect(answers.map(({ status, error }) => [status, error.message.replace(/: unknown; expected .*/, '')])).toEqual([
      [400, 'sinse'],
      [400, 'rules.agian'],
      [400, 'idz'],
      [400, 'matching.befor'],
      [400, 'reasons'],
      [400, 'x'],
    ])
    expect((await page.get('GET api/jobs', {})).answer.jobs).toEqual([])
  })

  it('is refused with IDs in another format than one in each text', async () => {
    await using made = new MemoryBoard(writable())
    const page = new Page(made.board)
    const asked = { consumer, from: 'memory:sms', ids: ['"a"', '"b"'] }
    const { status, error } = await page.post('POST api/plans', asked)
    expect([status, error.message]).toEqual([400, expect.stringContaining('ids: line 1 is in quotes')])
    expect((await page.post('POST api/plans', { ...asked, ids: [] })).status).toBe(400)
  })
})

describe('the dead letters of one message', () => {
  it.each(['id', 'key'] as const)('are found by its %s among others, and only they are sent back', async (by) => {
    await using made = new MemoryBoard(writable())
    for (const id of ['g1', 'g2']) made.failing.set(id, 'given-up')
    await made.send(['g1', 'g2'])
    made.failing.clear()
    const page = new Page(made.board)
    const { answer } = await page.get('GET api/message', { consumer, id: 'g2' })
    const only = by === 'id' ? { id: 'g2' } : { key: answer.records[0]?.key ?? '' }
    const looked = await ended(page, (await page.post('POST api/dead-letters/look', { consumer, ...only })).answer)
    if (looked.kind !== 'dead-letters') throw new Error(`a job of kind ${looked.kind}`)
    expect(looked.result).toMatchObject({ looked: 2, totals: { redriven: 1, filtered: 1 }, only })
    expect(looked.result?.sample).toMatchObject([{ key: answer.records[0]?.key, outcome: 'redriven' }])
    const redrive = { consumer, look: looked.id, reason: 'OPS-2', confirm: 1 }
    await ended(page, (await page.post('POST api/dead-letters/redrive', redrive)).answer)
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
    for (const id of ['g1', 'g2']) made.failing.set(id, 'given-up')
    await made.send(['g1', 'ok', 'g2'])
    made.failing.clear()
    const page = new Page(made.board)
    const asked = { consumer, from: 'memory:sms', rules: { givenUp: 'handle' } } as const
    const planned = await ended(page, (await page.post('POST api/plans', asked)).answer)
    if (planned.kind !== 'plan') throw new Error(`a job of kind ${planned.kind}`)
    expect(planned.result).toMatchObject({
      total: 3,
      toHandle: 2,
      buckets: { done: { count: 1 }, 'given-up': { count: 2 } },
    })
    const start = { consumer, plan: planned.id, reason: 'OPS-3', confirm: 3, rate: 1_000 }
    expect((await page.post('POST api/replays/start', start)).status).toBe(400)
    const started = await page.post('POST api/replays/start', { ...start, confirm: 2 })
    expect(await ended(page, started.answer)).toMatchObject({ state: 'finished', result: { totals: { handled: 2 } } })
    expect(made.handled.toSorted()).toEqual(['g1', 'g2', 'ok'])
    const { answer: list } = await page.get('GET api/replays', { consumer })
    expect(list.replays).toMatchObject([{ status: 'finished', by: 'ana', reason: 'OPS-3', left: 0 }])
    const id = list.replays[0]?.id ?? ''
    const { answer: one } = await page.get('GET api/replay', { consumer, id })
    expect(one).toMatchObject({ status: { id }, plan: { total: 3 }, hasReport: true })
    const path = `api/replay/report?consumer=${encodeURIComponent(consumer)}&id=${id}&format=csv`
    const report = await page.raw(path)
    expect(report.headers.get('content-disposition')).toBe(`attachment; filename="replay-${id}.csv"`)
    expect((await report.text()).trim().split('\n')).toHaveLength(4)
    const over = await page.post('POST api/replays/pause', { consumer, id, reason: 'OPS-2' })
    expect([over.status, over.error.code]).toEqual([409, 'REPLAY_REFUSED'])
    const { answer: audit } = await page.get('GET api/audit', { consumer })
    expect(audit.entries.filter(({ about }) => about === `replay ${id}`)).toMatchObject([
      { decision: 'start', by: 'ana', key: '' },
    ])
  })

  it('reads no file of the server, and no other place', async () => {
    await using made = new MemoryBoard(writable())
    await made.send(['ok'])
    const page = new Page(made.board)
    for (const from of ['file:/etc/passwd', 'memory:other', 'sms', 'memory:sms@x', 'file:-']) {
      expect((await page.post('POST api/plans', { consumer, from })).status).toBe(400)
    }
  })

  it('is paused when the dashboard ends, and goes on in another one', async () => {
    const options = writable()
    await using made = new MemoryBoard(options)
    const ids = Array.from({ length: 50 }, (_, at) => `g${at}`)
    for (const id of ids) made.failing.set(id, 'given-up')
    await made.send(ids)
    made.failing.clear()
    const page = new Page(made.board)
    const asked = { consumer, from: 'memory:sms', rules: { givenUp: 'handle' } } as const
    const planned = await ended(page, (await page.post('POST api/plans', asked)).answer)
    const start = { consumer, plan: planned.id, reason: 'OPS-4', confirm: 50, rate: 20 }
    await page.post('POST api/replays/start', start)
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
    const ids = Array.from({ length: 50 }, (_, at) => `g${at}`)
    for (const id of ids) made.failing.set(id, 'given-up')
    await made.send(ids)
    made.failing.clear()
    const page = new Page(made.board)
    const asked = { consumer, from: 'memory:sms', rules: { givenUp: 'handle' } } as const
    const planned = await ended(page, (await page.post('POST api/plans', asked)).answer)
    const start = { consumer, plan: planned.id, reason: 'OPS-4', confirm: 50, rate: 2 }
    await page.post('POST api/replays/start', start)
    const id = planned.kind === 'plan' ? (planned.result?.id ?? '') : ''
    const stop = (what: 'pause' | 'abort', reason: string): Promise<{ readonly status: number }> =>
      page.post(`POST api/replays/${what}`, { consumer, id, reason })
    const replays = replaysOf(made.entry.consumer, made.entry.subscription)
    const status = async (): Promise<string | undefined> => (await replays.list())[0]?.status
    await eventually(async () => (await status()) === 'running')
    expect((await stop('pause', ' ')).status).toBe(400)
    expect((await stop('pause', 'the provider is slow')).status).toBe(200)
    await eventually(async () => (await status()) === 'paused')
    const { answer: found } = await page.get('GET api/replay', { consumer, id })
    const again = { consumer, resume: id, reason: 'the provider is ready', confirm: found.status.left, rate: 2 }
    expect((await page.post('POST api/replays/start', again)).status).toBe(200)
    await eventually(async () => (await status()) === 'running')
    expect((await stop('abort', 'wrong range')).status).toBe(200)
    await eventually(async () => (await status()) === 'aborted')
    const { answer: audit } = await page.get('GET api/audit', { consumer })
    const notes = audit.entries.filter(({ about }) => about !== undefined)
    expect(notes.map(({ decision, by, reason, about }) => [decision, by, reason, about])).toEqual([
      ['abort', 'ana', 'wrong range', `replay ${id}`],
      ['resume', 'ana', 'the provider is ready', `replay ${id}`],
      ['pause', 'ana', 'the provider is slow', `replay ${id}`],
      ['start', 'ana', 'OPS-4', `replay ${id}`],
    ])
  })
})

describe('what is shown', () => {
  it('is counts, groups, pages and filters of records', async () => {
    await using made = new MemoryBoard()
    const ids = Array.from({ length: 30 }, (_, at) => `p${at}`)
    for (const id of ids) made.failing.set(id, 'parked')
    made.failing.set('g', 'given-up')
    await made.send([...ids, 'g'])
    const page = new Page(made.board)
    const { answer: counts } = await page.get('GET api/counts', {})
    expect(counts.consumers).toMatchObject([{ consumer, counts: { parked: { count: 30 }, 'given-up': { count: 1 } } }])
    const { answer: groups } = await page.get('GET api/groups', { consumer, state: 'parked' })
    expect(groups).toMatchObject({ total: { count: 30, isAtLeast: false }, groups: [{ count: 30 }] })
    const keys: string[] = []
    for (let after: string | undefined, isOver = false; !isOver;) {
      const query = { consumer, state: 'parked', limit: 7, ...(after === undefined ? {} : { after }) } as const
      const { answer } = await page.get('GET api/records', query)
      keys.push(...answer.records.map(({ key }) => key))
      after = answer.next
      isOver = after === undefined
    }
    expect(new Set(keys).size).toBe(30)
    const none = await page.get('GET api/records', { consumer, state: 'parked', text: 'nothing like it' })
    expect(none.answer.records).toEqual([])
    expect(none.answer.next).toBeUndefined()
    const some = await page.get('GET api/records', { consumer, state: 'parked', text: 'provider' })
    expect(some.answer.records).toHaveLength(30)
    expect(some.answer.records[0]).not.toHaveProperty('digest')
  })

  it('is a message by its ID, its key, the beginning of its key; how often it may run, and its time line', async () => {
    await using made = new MemoryBoard()
    made.failing.set('p', 'parked')
    await made.send(['p'])
    await made.send(['p'])
    const page = new Page(made.board)
    const { answer } = await page.get('GET api/message', { consumer, id: 'p' })
    const [record] = answer.records
    expect(record?.maxAttempts).toBe(5)
    expect(record?.advice.commands[0]?.text).toBe('npx consume-once resolve sms --done --reason WHY p')
    expect(record?.entries.map(({ type }) => type)).toEqual(['in-doubt', 'delivery', 'delivery'])
    expect(record?.entries).toMatchObject([{}, { outcome: 'parked', instance: 'this process' }, { outcome: 'parked' }])
    const { key = '' } = record ?? {}
    for (const given of [key, key.slice(0, 6)]) {
      const { answer: found } = await page.get('GET api/message', { consumer, key: given })
      expect(found.records).toMatchObject([{ key, state: 'parked' }])
    }
    expect((await page.get('GET api/message', { consumer, key: 'nope' })).status).toBe(404)
    expect((await page.get('GET api/message', { consumer, key: 'no' })).status).toBe(400)
    expect((await page.get('GET api/message', { consumer })).status).toBe(400)
  })

  it('is the row of an ID in a list, or the state in which it is', async () => {
    await using made = new MemoryBoard()
    made.failing.set('p', 'parked')
    made.failing.set('g', 'given-up')
    await made.send(['p', 'g', 'ok'])
    const page = new Page(made.board)
    const parked = { consumer, state: 'parked' } as const
    const { answer: found } = await page.get('GET api/records', { ...parked, id: 'p' })
    expect(found).toMatchObject({ records: [{ state: 'parked' }] })
    expect(found.elsewhere).toBeUndefined()
    const elsewhere = async (id: string): Promise<unknown> =>
      (await page.get('GET api/records', { ...parked, id })).answer
    expect(await elsewhere('g')).toMatchObject({ records: [], elsewhere: 'given-up' })
    expect(await elsewhere('ok')).toMatchObject({ records: [], elsewhere: 'done' })
    expect(await elsewhere('nobody')).toMatchObject({ records: [], elsewhere: 'absent' })
  })

  it('is which consumers know an ID or a key, and which store does not answer', async () => {
    await using made = new MemoryBoard()
    await made.send(['a'])
    const store = memoryStore()
    const admin = Object.assign(Object.create(store.admin ?? null) as StoreAdmin, { peek: unreachable })
    const down = defineConsumer({
      name: 'mail',
      store: Object.assign(Object.create(store) as Store, { admin }),
      handle: () => {},
    })
    const subscription = { group: 'g', origins: ['mail'] }
    const board = dashboard({ consumers: [made.entry, { consumer: down, subscription }], pages: pagesFolder() })
    const page = new Page(board)
    const { answer } = await page.get('GET api/find', { id: 'a' })
    expect(answer.found).toMatchObject([{ consumer, state: 'done' }])
    expect(answer.failed).toMatchObject([{ consumer: 'g/mail', error: { status: 503 } }])
    const byKey = await page.get('GET api/find', { id: answer.found[0]?.key ?? '' })
    expect(byKey.answer.found).toEqual(answer.found)
    expect((await page.get('GET api/find', { id: 'nobody' })).answer.found).toEqual([])
  })

  it('is no decision that would do harm: a record that a conflict met is not forgotten here', async () => {
    await using made = new MemoryBoard(writable())
    await made.send(['a'])
    const page = new Page(made.board)
    const decisions = async (): Promise<unknown> =>
      (await page.get('GET api/message', { consumer, id: 'a' })).answer.records[0]?.decisions
    expect(await decisions()).toEqual(['forget'])
    made.broker.publish('sms', { value: Buffer.from('{"to":"another one"}'), headers: { id: 'a' } })
    await made.broker.drained('sms', 'workers')
    expect(await decisions()).toEqual([])
  })

  it('is live, the guarantee, the settings with their origin, and the session', async () => {
    await using made = new MemoryBoard({ environment: { name: 'staging', color: '#0f766e' } })
    await made.send(['a', 'a'])
    const page = new Page(made.board)
    const { answer: live } = await page.get('GET api/live', {})
    expect(live.instances).toMatchObject([
      { name: 'this process', state: 'ok', snapshot: { consumers: [{ outcomes: { handled: 1 } }] } },
    ])
    const { answer: doctor } = await page.get('GET api/doctor', { consumer })
    const { answer: guarantees } = await page.get('GET api/guarantees', {})
    expect(guarantees.consumers).toMatchObject([{ consumer, verdict: doctor.diagnosis.verdict }])
    expect(doctor.diagnosis.guarantee).toContain('no message is lost')
    const { answer: settings } = await page.get('GET api/settings', { consumer })
    expect(settings.settings.find(({ name }) => name === 'onInDoubt')).toMatchObject({ value: 'park', origin: 'given' })
    expect(settings.settings.find(({ name }) => name === 'leaseMs')).toMatchObject({ value: '30 s', origin: 'default' })
    const { answer: session } = await page.get('GET api/session', {})
    expect(session).toMatchObject({ readOnly: true, environment: { name: 'staging' }, consumers: [{ id: consumer }] })
    expect(session.version).toMatch(/^\d+\.\d+\.\d+/)
  })
})

describe('a consumer of this process', () => {
  it('is paused and resumed with a reason, by whoever may change something', async () => {
    await using made = new MemoryBoard(writable())
    await made.send(['a'])
    const page = new Page(made.board)
    const refused = await page.post('POST api/consumers/pause', { consumer, reason: ' ' })
    expect(refused.status).toBe(400)
    const { answer } = await page.post('POST api/consumers/pause', { consumer, reason: 'OPS-3' })
    expect(answer).toEqual({ runs: 1 })
    const seen = async (): Promise<unknown> => {
      const { instances } = (await page.get('GET api/live', {})).answer
      return instances[0]?.snapshot?.consumers[0]
    }
    expect(await seen()).toMatchObject({
      health: { state: 'paused', checks: { source: 'paused by ana: OPS-3' } },
      events: expect.arrayContaining([expect.objectContaining({ event: 'paused', detail: 'ana: OPS-3' })]),
    })
    await page.post('POST api/consumers/resume', { consumer, reason: 'OPS-3 is over' })
    expect(await seen()).toMatchObject({ health: { state: 'running' } })
    const { answer: audit } = await page.get('GET api/audit', { consumer })
    expect(audit.entries).toMatchObject([
      { decision: 'resume', by: 'ana', reason: 'OPS-3 is over', about: 'consumer', key: '', before: '' },
      { decision: 'pause', by: 'ana', reason: 'OPS-3', about: 'consumer' },
    ])
    const only = async (which: object): Promise<readonly string[]> => {
      const some = await page.get('GET api/audit', { consumer, ...which })
      return some.answer.entries.map(({ decision }) => decision)
    }
    expect(await only({ decision: 'pause' })).toEqual(['pause'])
    expect(await only({ by: 'ben' })).toEqual([])
    const [newest] = audit.entries
    expect(await only({ since: Number(newest?.at) + 1 })).toEqual([])
    expect(await only({ until: Number(newest?.at) + 1, by: 'ana' })).toEqual(['resume', 'pause'])
    await made.send(['b'])
    expect(made.handled).toEqual(['a', 'b'])
  })

  it('is not paused while read-only, nor if it runs elsewhere', async () => {
    await using made = new MemoryBoard()
    await made.send(['a'])
    const asked = { consumer, reason: 'OPS-3' }
    expect((await new Page(made.board).post('POST api/consumers/pause', asked)).status).toBe(405)
    await using other = new MemoryBoard(writable())
    const elsewhere = await new Page(other.board).post('POST api/consumers/pause', asked)
    expect([elsewhere.status, elsewhere.error.code]).toEqual([409, 'HTTP_NOT_HERE'])
    expect(elsewhere.error.message).toContain('no process that this dashboard asks reports it')
  })

  it('is refused with the address of the process that it runs in', async () => {
    await using made = new MemoryBoard()
    await made.send(['a'])
    await using health = await serveHealth(made.running, { port: 0, host: '127.0.0.1', live: made.live })
    const instance = `http://127.0.0.1:${health.port}`
    const board = dashboard({ consumers: [made.entry], instances: [instance], pages: pagesFolder(), ...writable() })
    const { status, error } = await new Page(board).post('POST api/consumers/pause', { consumer, reason: 'OPS-3' })
    expect(status).toBe(409)
    expect(error.message).toContain(`it runs in ${instance}`)
    expect(error.message).toContain('running.pause()')
  })

  it('is paused also if the audit cannot have it, and the answer says why', async () => {
    const memory = memoryStore()
    const { admin } = memory
    if (admin === undefined) throw new Error('the memory store has an admin')
    let isDown = false
    const note = async (...asked: Parameters<NonNullable<StoreAdmin['note']>>): Promise<void> => {
      if (isDown) throw new StoreError('STORE_UNREACHABLE', 'connect ECONNREFUSED redis://:s3cret@10.0.0.1:6379')
      await admin.note?.(...asked)
    }
    const store: Store = Object.assign(memory, { admin: { ...admin, note } })
    await using made = new MemoryBoard(writable(), store)
    await made.send(['a'])
    isDown = true
    const page = new Page(made.board)
    const { answer } = await page.post('POST api/consumers/pause', { consumer, reason: 'OPS-3' })
    expect(answer).toMatchObject({ runs: 1, unnoted: expect.stringContaining('ECONNREFUSED') })
    expect(answer.unnoted).not.toContain('s3cret')
    const { instances } = (await page.get('GET api/live', {})).answer
    expect(instances[0]?.snapshot?.consumers[0]).toMatchObject({ health: { state: 'paused' } })
  })
})

describe('a rare state', () => {
  it('is looked for in bounded time: a page says how many records it has looked at, and the next goes on', async () => {
    const { page, asked } = slowBoard()
    const list = { consumer, state: 'parked' } as const
    const { answer: first } = await page.get('GET api/records', list)
    expect(first).toMatchObject({ records: [], looked: 40_000, next: '2' })
    const { answer: second } = await page.get('GET api/records', { ...list, after: first.next ?? '' })
    expect(second).toMatchObject({ records: [], looked: 40_000, next: '4' })
    const { answer: third } = await page.get('GET api/records', { ...list, after: second.next ?? '' })
    expect(third).toMatchObject({ records: [{ reason: 'rare' }], looked: 20_000 })
    expect(third.next).toBeUndefined()
    expect(new Set(asked)).toEqual(new Set([20_000]))
  })

  it('is counted, grouped and decided as far as was looked, which the answer says', async () => {
    const { page } = slowBoard()
    const { answer: counts } = await page.get('GET api/counts', {})
    expect(counts.consumers[0]?.counts?.parked).toEqual({ count: 0, isAtLeast: true })
    const { answer: groups } = await page.get('GET api/groups', { consumer, state: 'parked' })
    expect(groups).toMatchObject({ total: { count: 0, isAtLeast: true }, groups: [] })
    const preview = { consumer, decision: 'done', matching: { state: 'parked' } } as const
    expect((await page.post('POST api/decisions/preview', preview)).answer).toMatchObject({
      hasMore: false,
      refused: 1,
    })
    const none = await page.get('GET api/message', { consumer, key: 'zzzz' })
    expect([none.status, none.error.message]).toEqual([404, expect.stringContaining('among the first of many records')])
  })
})

describe('a store that is down', () => {
  it('is an answer with 503, from which the page heals', async () => {
    const memory = memoryStore()
    let isDown = true
    const fails = <T>(ask: () => T): T => {
      if (isDown) throw new StoreError('STORE_UNREACHABLE', 'connect ECONNREFUSED redis://:s3cret@10.0.0.1:6379')
      return ask()
    }
    const { admin } = memory
    if (admin === undefined) throw new Error('the memory store has an admin')
    const failing = {
      ...admin,
      peek: async (...args: Parameters<typeof admin.peek>) => fails(() => admin.peek(...args)),
      list: async (...args: Parameters<typeof admin.list>) => fails(() => admin.list(...args)),
    }
    const store: Store = Object.assign(Object.create(memory) as typeof memory, { admin: failing })
    const definition = defineConsumer({ name: 'sms', store, handle: () => {} })
    const entry = { consumer: definition, subscription: { group: 'workers', origins: ['sms'] } }
    const page = new Page(dashboard({ consumers: [entry], pages: pagesFolder() }))
    const { answer } = await page.get('GET api/counts', {})
    expect(answer.consumers).toMatchObject([{ error: { status: 503, code: 'STORE_UNREACHABLE' } }])
    const down = await page.get('GET api/message', { consumer, id: 'a' })
    expect([down.status, down.error.code]).toEqual([503, 'STORE_UNREACHABLE'])
    expect(down.error.message).not.toContain('s3cret')
    isDown = false
    expect((await page.get('GET api/message', { consumer, id: 'a' })).answer.records).toMatchObject([
      { state: 'absent' },
    ])
    expect((await page.get('GET api/counts', {})).answer.consumers[0]?.counts?.parked).toEqual({
      count: 0,
      isAtLeast: false,
    })
  })
})

/** A redrive of 20 dead letters. `again`: the same look is confirmed once more. */
async function redriveBegun(
  made: MemoryBoard,
  page: Page,
  rate: number,
): Promise<{ readonly id: string; readonly job: JobInfo; readonly again: () => Promise<JobInfo> }> {
  const ids = Array.from({ length: 20 }, (_, at) => `g${at}`)
  for (const id of ids) made.failing.set(id, 'given-up')
  await made.send(ids)
  made.failing.clear()
  const looked = await ended(page, (await page.post('POST api/dead-letters/look', { consumer })).answer)
  const id = looked.kind === 'dead-letters' ? (looked.result?.id ?? '') : ''
  const asked = { consumer, look: looked.id, reason: 'OPS-5', confirm: 20 }
  const { answer: job } = await page.post('POST api/dead-letters/redrive', { ...asked, rate })
  const again = async (): Promise<JobInfo> =>
    ended(page, (await page.post('POST api/dead-letters/redrive', { ...asked, rate: 10_000 })).answer)
  return { id, job, again }
}

/** Each page takes 1.5 s, and looks at 20,000 records: what is parked is on the fifth. */
function slowBoard(): { readonly page: Page; readonly asked: readonly (number | undefined)[] } {
  const clock = new ManualClock()
  const memory = memoryStore()
  const { admin } = memory
  if (admin === undefined) throw new Error('the memory store has an admin')
  const asked: (number | undefined)[] = []
  const list = async (_scope: string, { state, lookAtMost, after = '0' }: ListQuery): Promise<RecordPage> => {
    asked.push(lookAtMost)
    await clock.advance(1_500)
    const at = Number(after)
    const records = at === 4 && state === 'parked' ? [{ key: 'k'.repeat(22), state, reason: 'rare' }] : []
    return { records, looked: 20_000, next: at < 4 ? String(at + 1) : undefined }
  }
  const store: Store = Object.assign(Object.create(memory) as typeof memory, { admin: { ...admin, list } })
  const entry = {
    consumer: defineConsumer({ name: 'sms', store, handle: () => {} }),
    subscription: { group: 'workers', origins: ['sms'] },
  }
  const board = dashboard({ consumers: [entry], pages: pagesFolder(), clock, ...writable() })
  return { page: new Page(board), asked }
}
