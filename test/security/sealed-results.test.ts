import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  defineConsumer,
  messageId,
  runInline,
  type ConsumerOptions,
  type InlineRunning,
  type Message,
  type ObserverEvent,
  type SealResult,
  type Store,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { type Result } from '../../src/internal.ts'
import { InboxDatabase } from '../../testing/stores/inbox-database.ts'
import { MemoryInbox } from '../../testing/stores/memory-inbox.ts'
import type { MemoryTx } from '../../testing/stores/memory-transaction.ts'
import { sealedBy } from './seal.ts'
import type { StoreCalls } from '../../src/ports/store.ts'
import { withCalls } from '../kit/store-with.ts'

const SECRET = randomBytes(32)
const OTHER = randomBytes(32)
const RESULT = { text: 'canary: ключ 🔑', none: null }
const DECLINED = { name: 'Declined', message: 'canary: no cover', code: 'CARD_DECLINED' }
const UNREADABLE = { failure: { name: 'ResultUnreadable', code: 'RESULT_UNREADABLE' } }

const open: InlineRunning[] = []

afterEach(async () => {
  for (const running of open.splice(0)) await running.stop()
})

/** What outlives a consumer, and everything that its store was told to keep. */
class Place {
  readonly kept: Result[] = []
  readonly events: ObserverEvent[] = []
  /** By number of the handler's start. */
  runs = 0
  /** Changes what the store answers with. */
  tamper: ((result: Result) => Result) | undefined
  readonly database = new InboxDatabase()
  readonly #store: Store<MemoryTx>

  constructor(strategy: 'lease' | 'inbox') {
    const store =
      strategy === 'lease'
        ? (memoryStore() as unknown as Store<MemoryTx>)
        : new MemoryInbox({ database: this.database })
    const calls: StoreCalls = store
    this.#store = withCalls(store, {
      mark: (claims, results) => {
        this.kept.push(...(results ?? []).flatMap((result) => result ?? []))
        return calls.mark(claims, results)
      },
      claim: async (request) => {
        const answers = await calls.claim(request)
        return answers.map((answer) =>
          answer.verdict === 'done' && answer.result !== undefined && this.tamper !== undefined
            ? { ...answer, result: this.tamper(answer.result) }
            : answer,
        )
      },
    })
  }

  /** A process with this `sealResult`. Messages whose ID begins with `no` are declined. */
  process(
    sealResult: SealResult | undefined,
    options: Partial<ConsumerOptions<unknown, unknown, MemoryTx>> = {},
  ): Process {
    const consumer = defineConsumer<unknown, unknown, MemoryTx>({
      name: 'consumer',
      id: messageId.header('id'),
      store: this.#store,
      rememberResult: true,
      rememberFailure: (error) => (error as { code?: unknown }).code === DECLINED.code,
      observe: (event) => this.events.push(event),
      ...(sealResult === undefined ? {} : { sealResult }),
      ...options,
      handle: async ({ message, tx }) => {
        this.runs++
        const id = String(message.headers['id'])
        await tx?.insert(id)
        if (id.startsWith('no')) throw Object.assign(new Error(DECLINED.message), DECLINED)
        return RESULT
      },
    } as ConsumerOptions<unknown, unknown, MemoryTx>)
    const running = runInline(consumer, { group: 'group' })
    open.push(running)
    return (id) => running.handle(messageOf(id))
  }

  warnings(): readonly string[] {
    return this.events.flatMap((event) => (event.type === 'source' && event.isWarning ? [event.event] : []))
  }
}

type Process = (id: string) => ReturnType<InlineRunning['handle']>

function messageOf(id: string): Message {
  const place = { destination: 'queue', origin: 'queue', position: '1' }
  return { system: 'rabbitmq', ...place, key: null, value: Buffer.from('{}'), headers: { id } }
}

describe.each(['lease', 'inbox'] as const)('with sealResult and a store of strategy %s', (strategy) => {
  it('the store is told nothing that can be read, and duplicates are told what happened [T134]', async () => {
    const place = new Place(strategy)
    const handle = place.process(sealedBy(SECRET))
    for (const outcome of ['handled', 'duplicate']) {
      expect(await handle('a')).toEqual({ outcome, settle: 'ack', result: RESULT })
      expect(await handle('no')).toEqual({ outcome, settle: 'ack', failure: DECLINED })
    }
    expect(place.runs).toBe(2)
    expect(place.kept).toHaveLength(2)
    expect(place.kept.join()).not.toMatch(/canary|DECLINED/)
    // An inbox rolls back what a remembered failure wrote: it knows one, sealed or not.
    expect(place.database.effects).toEqual(strategy === 'inbox' ? ['a'] : [])
  })

  it('a duplicate that cannot be opened is settled, and told so: another secret, none, or one that was taken away [T135]', async () => {
    const place = new Place(strategy)
    const handle = place.process(sealedBy(SECRET))
    await handle('a')
    await handle('no')
    for (const sealResult of [sealedBy(OTHER), undefined]) {
      const other = place.process(sealResult)
      expect(await other('a')).toMatchObject({ outcome: 'duplicate', settle: 'ack', ...UNREADABLE })
      expect(await other('no')).toMatchObject({ outcome: 'duplicate', settle: 'ack', ...UNREADABLE })
    }
    expect(place.warnings()).toEqual(Array.from({ length: 4 }, () => 'result-unreadable'))
    expect(place.runs).toBe(2)
    const rotated = place.process(sealedBy(OTHER, SECRET))
    expect(await rotated('a')).toMatchObject({ outcome: 'duplicate', result: RESULT })
  })

  it('what was kept before there was a seal can still be read', async () => {
    const place = new Place(strategy)
    await place.process(undefined)('a')
    expect(await place.process(sealedBy(SECRET))('a')).toMatchObject({ outcome: 'duplicate', result: RESULT })
  })

  it.each([
    ['cut', (result: Result) => result.slice(0, 20)],
    ['empty', (result: Result) => result.slice(0, 1)],
    ['told to be a failure', (result: Result) => `F${result.slice(1)}`],
    ['not sealed at all, and no JSON', () => 'vcanary'],
  ])('what somebody wrote into the store is never taken for a result: %s', async (_, tamper) => {
    const place = new Place(strategy)
    const handle = place.process(sealedBy(SECRET))
    await handle('a')
    place.tamper = tamper
    expect(await handle('a')).toMatchObject({ outcome: 'duplicate', settle: 'ack', ...UNREADABLE })
    expect(JSON.stringify(place.events.filter(({ type }) => type === 'source'))).not.toContain('canary')
  })

  it('what two records keep cannot be exchanged, by the key that is bound to it [T136]', async () => {
    const place = new Place(strategy)
    const handle = place.process(sealedBy(SECRET))
    await handle('a')
    await handle('b')
    place.tamper = () => place.kept[1] ?? ''
    expect(await handle('a')).toMatchObject(UNREADABLE)
    expect(await handle('b')).toMatchObject({ result: RESULT })
  })

  it('a failure that cannot be sealed is not remembered, but tried again', async () => {
    const place = new Place(strategy)
    const handle = place.process({ seal: refuse, open: (text) => text }, { maxAttempts: 1 })
    expect(await handle('no')).toMatchObject({ outcome: 'dead-lettered', reason: 'attempts-spent' })
    expect(place.events).toContainEqual(expect.objectContaining({ type: 'policy-threw', policy: 'sealResult' }))
    expect(place.kept).toEqual([])
  })
})

const NO_SEALS: readonly (readonly [string, SealResult['seal']])[] = [
  ['throws', refuse],
  ['answers nothing', () => ''],
  ['answers later', () => Promise.resolve('later') as unknown as string],
  ['answers what no database keeps', () => '\u0000'],
  ['answers more than maxResultBytes', () => 'x'.repeat(20_000)],
]

describe.each(NO_SEALS)('a seal that %s', (_, seal) => {
  it('under a lease: the effect has happened, so it is marked, without its result', async () => {
    const place = new Place('lease')
    const handle = place.process({ seal, open: (text) => text })
    for (const outcome of ['handled', 'duplicate']) {
      expect(await handle('a')).toMatchObject({ outcome, settle: 'ack', failure: { code: 'RESULT_NOT_KEPT' } })
    }
    expect(place.kept.join()).not.toContain('canary')
  })

  it('in an inbox: nothing is committed', async () => {
    const place = new Place('inbox')
    const handle = place.process({ seal, open: (text) => text })
    expect(await handle('a')).toMatchObject({ outcome: 'dead-lettered', reason: 'handler-failed' })
    expect(place.database.effects).toEqual([])
  })
})

it.each([{}, { seal: () => '' }, 'aes', null])(
  'sealResult is refused where it is no pair of functions: %j',
  (wrong) => {
    const options = {
      name: 'consumer',
      store: memoryStore(),
      handle: () => {},
      sealResult: wrong as unknown as SealResult,
    }
    expect(() => defineConsumer(options)).toThrow(/sealResult: expected an object with the functions seal and open/)
  },
)

function refuse(): never {
  throw new Error('canary')
}
