import { EventEmitter } from 'node:events'
import type { ClientResult, PoolLike } from '../../adapters/pg/index.ts'
import type { ClaimItem } from '../../src/internal.ts'

type Answers = Readonly<Record<string, Answer>>

type Answer = Partial<ClientResult> | (() => Promise<never>)

export interface FakePool {
  readonly pool: PoolLike
  /** What was sent, in order. */
  readonly sent: string[]
  /** `undefined`, or the error a client was given back with. */
  readonly releases: (Error | boolean | undefined)[]
}

/** For answers that no real server can be brought to give: the first key that a text contains decides. */
export function fakePool(answers: Answers, max = 2, processID?: number): FakePool {
  const [sent, releases]: [string[], (Error | boolean | undefined)[]] = [[], []]
  const answer = async (text: string): Promise<ClientResult[]> => {
    sent.push(text)
    const found = Object.entries(answers).find(([part]) => text.includes(part))?.[1] ?? {}
    const result = typeof found === 'function' ? await found() : found
    const none = { command: null, rowCount: null, rows: [] }
    const last = { ...none, command: text.endsWith('commit') ? 'COMMIT' : null, ...result }
    if (!text.startsWith('begin')) return [last]
    if (!text.includes('savepoint consume_once')) return [last, none]
    // A claim counts, commits that, and begins. Its two statements are answered with the same row, of the columns of both.
    return [none, none, none, { ...none, command: 'COMMIT' }, none, none, last, last, none, none, none]
  }
  const connect = async (): ReturnType<PoolLike['connect']> =>
    Object.assign(new EventEmitter(), {
      processID,
      query: (query: string | { text: string }) => answer(typeof query === 'string' ? query : query.text),
      release: (error?: Error | boolean) => void releases.push(error),
    })
  return { pool: Object.assign(new EventEmitter(), { options: { max }, connect }), sent, releases }
}

/** As a server answers that grants every claim of an item. */
export function granting(
  item: ClaimItem,
  more: Answers = {},
  { max, processID }: { max?: number; processID?: number | undefined } = {},
): FakePool {
  const key = Buffer.from(item.key, 'base64url').toString('hex', 0, 16)
  return fakePool(
    {
      'select id from': { rows: [{ id: 1 }] },
      begin: { rows: [{ keys: key, transaction: '7', oldest: null, is_read_committed: true, is_tried: false }] },
      ...more,
    },
    max,
    processID,
  )
}
