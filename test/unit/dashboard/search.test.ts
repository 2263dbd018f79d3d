// Finding messages by a part of them in the dashboard.
import { describe, expect, it } from '@jest/globals'
import type { SearchFound } from '../../../dashboard/api.ts'
import { NoEffectError, type Store } from '../../../src/index.ts'
import type { StoreAdmin } from '../../../src/internal.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { storeWith } from '../../kit/store-with.ts'
import { CONSUMER, ended, MemoryBoard, writable } from './memory-board.ts'

type Body = Parameters<typeof searchIn>[1]

async function searchIn(
  on: MemoryBoard,
  body: { text?: string; where?: string[]; keys?: string[]; max?: number; until?: number },
): Promise<SearchFound> {
  const { answer } = await on.post('POST api/search', body)
  const job = await ended(on, answer)
  if (job.kind !== 'search' || job.result === undefined) throw new Error(JSON.stringify(job.error))
  return job.result
}

/** An audit that cannot be written. */
function note(): Promise<void> {
  return Promise.reject(new Error('permission denied for table audit'))
}

async function board(options = {}, store: Store = memoryStore()): Promise<MemoryBoard> {
  const made = new MemoryBoard({ ...writable(), ...options }, store)
  await made.sendFailing('given-up', ['4711', '4712'])
  await made.send(['4713'])
  return made
}

describe('a search in the dashboard', () => {
  it('finds dead letters by a field, a header and a text, shows no payload and no ID', async () => {
    await using made = await board()
    const asked: Body[] = [{ where: ['/to=4711'] }, { where: ['$message.header#/id=4711'] }, { text: '4711' }]
    for (const body of asked) {
      const found = await searchIn(made, body)
      expect(found.messages).toMatchObject([
        { consumer: CONSUMER, from: 'memory:dead-letters', state: 'given-up', reason: 'handler-failed', by: CONSUMER },
      ])
      expect(found.messages[0]?.id).toBeUndefined()
      expect(JSON.stringify(found)).not.toContain('4711')
      expect(found).toMatchObject({ problems: [], unnoted: [], stopped: false, looked: [{ looked: 2, of: 2 }] })
    }
    const [{ key = '', idempotencyKey = '' } = {}] = (await searchIn(made, { text: '4712' })).messages
    for (const one of [key, idempotencyKey]) {
      expect((await searchIn(made, { keys: [one] })).messages).toMatchObject([{ key }])
    }
    expect((await searchIn(made, { text: '47', max: 1 })).looked).toMatchObject([{ looked: 1 }])
    expect((await searchIn(made, { where: ['/order=1'] })).looked).toMatchObject([{ looked: 2, lacking: 2 }])
  })

  it('is in the audit with who searched by which fields, and not with what they searched for', async () => {
    await using made = await board({ auth: () => ({ by: 'ana', readOnly: true }) })
    await searchIn(made, { where: ['/to=4711'], text: '4711', until: 1e14 })
    const { entries } = (await made.get('GET api/audit', { consumer: CONSUMER })).answer
    expect(entries).toMatchObject([
      {
        decision: 'search',
        by: 'ana',
        about: '$message.payload#/to, text',
        reason: 'searched dead letters until 5138-11-16T09:46:40.000Z',
      },
    ])
    // Keys tell nothing of a person.
    await searchIn(made, { keys: ['x'.repeat(22)] })
    expect((await made.get('GET api/audit', { consumer: CONSUMER })).answer.entries).toHaveLength(1)
  })

  it('goes on without an audit, and says so', async () => {
    const store = storeWith(({ admin }) => ({
      admin: Object.assign(Object.create(admin ?? null) as StoreAdmin, { note }),
    }))
    await using made = await board({}, store)
    const found = await searchIn(made, { text: '4711' })
    expect(found.messages).toHaveLength(1)
    expect(found.unnoted).toEqual([`${CONSUMER}: permission denied for table audit`])
  })

  it('refuses what it cannot search for, each with what was expected', async () => {
    await using made = await board()
    const wrong = [
      [{}, 'expected text, where or keys'],
      [{ text: '' }, 'expected text, where or keys'],
      [{ where: ['to=1'] }, 'where: expected $message.payload#/pointer'],
      [{ keys: ['short'] }, 'keys: expected keys of 22 characters'],
      [{ text: 'x', topics: true }, 'since: expected a time'],
      [{ text: 'x', since: 2, until: 1 }, 'until: expected a later time'],
      [{ text: 'x', max: 100_001 }, 'max: expected a number from 1 to 100000'],
    ] as const
    for (const [body, message] of wrong) {
      const { status, error } = await made.post('POST api/search', body)
      expect([status, error.message]).toEqual([400, expect.stringContaining(message)])
    }
    expect((await made.post('POST api/search', { text: 'x', consumers: ['nobody'] })).status).toBe(404)
  })

  it('says that the decoder cannot read messages now, and what to do', async () => {
    let isDown = false
    await using made = new MemoryBoard(writable(), memoryStore(), () => {
      if (isDown) throw new NoEffectError('the registry does not answer')
    })
    await made.sendFailing('given-up', ['4711'])
    isDown = true
    expect(await searchIn(made, { where: ['/to=4711'] })).toMatchObject({
      messages: [],
      problems: [
        {
          consumer: CONSUMER,
          code: 'DECODER_UNREACHABLE',
          message: expect.stringMatching(
            /cannot read messages now: the registry does not answer\. See that the server/,
          ),
        },
      ],
    })
  })
})
