import { describe, expect, it } from '@jest/globals'
import { serveHealth } from '../../../adapters/health/index.ts'
import { dashboard } from '../../../dashboard/server/index.ts'
import { StoreError, type Store } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import type { StoreAdmin } from '../../../src/internal.ts'
import { Page, pagesFolder } from '../../kit/dashboard.ts'
import { CONSUMER as consumer, MemoryBoard, writable } from './memory-board.ts'

const byUser = (request: Request): { by: string } => ({ by: request.headers.get('x-user') ?? '' })

describe('a decision', () => {
  it('is previewed, confirmed with a reason, carried out once, and in the audit with who and why', async () => {
    await using made = new MemoryBoard(writable())
    await made.sendFailing('parked', ['p1', 'p2'])
    await made.send(['ok'])
    const { answer: shown } = await made.post('POST api/decisions/preview', {
      consumer,
      decision: 'done',
      matching: { state: 'parked' },
    })
    expect(shown).toMatchObject({ changing: 2, already: 0, refused: 0, hasMore: false, decision: 'done' })
    expect(shown.rows.map(({ verdict }) => verdict)).toEqual(['decided', 'decided'])
    const { token } = shown
    const refused = [
      await made.post('POST api/decisions', { consumer, token, reason: ' ', confirm: 2 }),
      await made.post('POST api/decisions', { consumer, token, reason: 'OPS-1', confirm: 1 }),
      await made.post('POST api/decisions', { consumer, token: 'guessed', reason: 'OPS-1', confirm: 2 }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 409])
    const { answer } = await made.post('POST api/decisions', { consumer, token, reason: 'OPS-1', confirm: 2 })
    expect(answer).toMatchObject({ decided: 2, refused: 0 })
    const again = await made.post('POST api/decisions', { consumer, token, reason: 'OPS-1', confirm: 2 })
    expect([again.status, again.error.code]).toEqual([409, 'HTTP_PREVIEW'])
    const { answer: found } = await made.get('GET api/message', { consumer, id: 'p1' })
    expect(found.records).toMatchObject([
      {
        state: 'done',
        decisions: ['forget'],
        audit: [{ by: 'ana', reason: 'OPS-1', decision: 'done', before: 'parked' }],
      },
    ])
    const { answer: audit } = await made.get('GET api/audit', { consumer })
    expect(audit.entries).toHaveLength(2)
  })

  it('leaves a record alone that has changed since it was shown', async () => {
    await using made = new MemoryBoard(writable())
    await made.sendFailing('parked', ['p'])
    const asked = { consumer, decision: 'rerun', matching: { state: 'parked' } } as const
    const { answer: first } = await made.post('POST api/decisions/preview', asked)
    const { answer: second } = await made.post('POST api/decisions/preview', { ...asked, decision: 'done' })
    await made.post('POST api/decisions', { consumer, token: second.token, reason: 'it arrived', confirm: 1 })
    const late = await made.post('POST api/decisions', { consumer, token: first.token, reason: 'again', confirm: 1 })
    expect(late.answer).toMatchObject({ decided: 0, refused: 1 })
    const { answer } = await made.get('GET api/message', { consumer, id: 'p' })
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
    const { answer: found } = await made.get('GET api/message', { consumer, id: 'a' })
    const asked = { consumer, decision: 'forget', keys: found.records.map(({ key }) => key) } as const
    const { answer: shown } = await made.post('POST api/decisions/preview', asked)
    const confirmed = { consumer, token: shown.token, reason: 'lost by the provider', confirm: 1 }
    const { answer } = await made.post('POST api/decisions', confirmed)
    expect(answer).toMatchObject({ decided: 1, refused: 0 })
  })

  it('belongs to the person who saw its preview', async () => {
    await using made = new MemoryBoard({ ...writable(), auth: byUser })
    await made.sendFailing('parked', ['p'])
    const [ana, ben] = ['ana', 'ben'].map((user) => new Page(made.board, { headers: { 'x-user': user } }))
    const asked = { consumer, decision: 'done', matching: { state: 'parked' } } as const
    const token = (await ana?.post('POST api/decisions/preview', asked))?.answer.token ?? ''
    const taken = await ben?.post('POST api/decisions', { consumer, token, reason: 'mine', confirm: 1 })
    expect(taken?.status).toBe(409)
  })
})

describe('a request with a name that nobody knows', () => {
  it('is refused, and does nothing: a limit of it may be misspelt', async () => {
    await using made = new MemoryBoard(writable())
    const plan = { consumer, from: 'memory:sms' }
    const asked = [
      made.post('POST api/plans', { ...plan, sinse: 1 } as typeof plan),
      made.post('POST api/plans', { ...plan, rules: { agian: true } as object }),
      made.post('POST api/dead-letters/look', { consumer, idz: 'a' } as { consumer: string }),
      made.post('POST api/decisions/preview', {
        consumer,
        decision: 'done',
        matching: { state: 'parked', befor: 1 } as { state: 'parked' },
      }),
      made.get('GET api/records', { consumer, state: 'parked', reasons: 'x' } as { consumer: string; state: 'parked' }),
      made.get('GET api/session', { x: '1' }),
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
    expect((await made.get('GET api/jobs', {})).answer.jobs).toEqual([])
  })

  it('is refused with IDs in another format than one in each text', async () => {
    await using made = new MemoryBoard(writable())
    const asked = { consumer, from: 'memory:sms', ids: ['"a"', '"b"'] }
    const { status, error } = await made.post('POST api/plans', asked)
    expect([status, error.message]).toEqual([400, expect.stringContaining('ids: line 1 is in quotes')])
    expect((await made.post('POST api/plans', { ...asked, ids: [] })).status).toBe(400)
  })
})

describe('a consumer of this process', () => {
  it('is paused and resumed with a reason, by whoever may change something', async () => {
    await using made = new MemoryBoard(writable())
    await made.send(['a'])
    const refused = await made.post('POST api/consumers/pause', { consumer, reason: ' ' })
    expect(refused.status).toBe(400)
    const { answer } = await made.post('POST api/consumers/pause', { consumer, reason: 'OPS-3' })
    expect(answer).toEqual({ runs: 1 })
    const seen = async (): Promise<unknown> => {
      const { instances } = (await made.get('GET api/live', {})).answer
      return instances[0]?.snapshot?.consumers[0]
    }
    expect(await seen()).toMatchObject({
      health: { state: 'paused', checks: { source: 'paused by ana: OPS-3' } },
      events: expect.arrayContaining([expect.objectContaining({ event: 'paused', detail: 'ana: OPS-3' })]),
    })
    await made.post('POST api/consumers/resume', { consumer, reason: 'OPS-3 is over' })
    expect(await seen()).toMatchObject({ health: { state: 'running' } })
    const { answer: audit } = await made.get('GET api/audit', { consumer })
    expect(audit.entries).toMatchObject([
      { decision: 'resume', by: 'ana', reason: 'OPS-3 is over', about: 'consumer', key: '', before: '' },
      { decision: 'pause', by: 'ana', reason: 'OPS-3', about: 'consumer' },
    ])
    const only = async (which: object): Promise<readonly string[]> => {
      const some = await made.get('GET api/audit', { consumer, ...which })
      return some.answer.entries.map(({ decision }) => decision)
    }
    expect(await only({ decision: 'pause' })).toEqual(['pause'])
    expect(await only({ by: 'ben' })).toEqual([])
    const [newest] = audit.entries
    expect(await only({ since: Number(newest?.at) + 1 })).toEqual([])
    expect(await only({ until: Number(newest?.at) + 1, by: 'ana' })).toEqual(['resume', 'pause'])
    const { entries: ofAll } = (await made.get('GET api/audit', {})).answer
    expect(ofAll.map(({ decision, consumer: id }) => [decision, id])).toEqual([
      ['resume', consumer],
      ['pause', consumer],
    ])
    const later = await made.get('GET api/audit', { consumer, since: 2, until: 2 })
    expect([later.status, later.error.message]).toEqual([400, 'since: expected a time before `until`, got a later one'])
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
    const { answer } = await made.post('POST api/consumers/pause', { consumer, reason: 'OPS-3' })
    expect(answer).toMatchObject({ runs: 1, unnoted: expect.stringContaining('ECONNREFUSED') })
    expect(answer.unnoted).not.toContain('s3cret')
    const { instances } = (await made.get('GET api/live', {})).answer
    expect(instances[0]?.snapshot?.consumers[0]).toMatchObject({ health: { state: 'paused' } })
  })
})
