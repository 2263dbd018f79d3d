import { afterEach, describe, expect, it } from '@jest/globals'
import {
  defineConsumer,
  messageId,
  NoEffectError,
  OutcomeUnknownError,
  runInline,
  type ConsumerOptions,
  type InlineRunning,
  type Message,
  type ObserverEvent,
  type Settlement,
  type Store,
} from '../../../../src/index.ts'
import { memoryStore } from '../../../../src/memory/index.ts'
import { readResult } from '../../../../src/internal.ts'
import { ManualClock, turns } from '../../../kit/manual-clock.ts'
import { InboxDatabase } from '../../../../testing/stores/inbox-database.ts'
import { MemoryInbox } from '../../../../testing/stores/memory-inbox.ts'
import type { MemoryTx } from '../../../../testing/stores/memory-transaction.ts'
import { gate } from '../../../kit/rig.ts'
import { scriptedStore, type ScriptedStore } from '../../../kit/scripted-store.ts'

const running: { readonly inline: InlineRunning; readonly clock: ManualClock }[] = []

afterEach(async () => {
  for (const { inline, clock } of running.splice(0)) {
    const stopping = inline.stop({ deadlineMs: 0 })
    await clock.advance(60_000)
    await stopping
    if (clock.pending > 0) throw new Error(`left behind by a stop: ${clock.pending} timers`)
  }
})

type Strategy = 'lease' | 'inbox'
type Handle = (id: string, context: { readonly tx: MemoryTx | undefined; readonly signal: AbortSignal }) => unknown
type Options = Partial<Omit<ConsumerOptions<unknown, unknown, never>, 'store' | 'handle' | 'handleBatch'>>

/** A consumer whose caller gets its settlements. */
class Desk {
  readonly clock = new ManualClock()
  readonly database = new InboxDatabase()
  readonly store: ScriptedStore<MemoryTx>
  readonly events: ObserverEvent[] = []
  readonly runs: string[] = []
  readonly inline: InlineRunning

  constructor(strategy: Strategy, handle: Handle, options: Options = {}) {
    const lease = memoryStore({ clock: this.clock }) as unknown as Store<MemoryTx>
    this.store = scriptedStore(
      strategy === 'lease' ? lease : new MemoryInbox({ database: this.database, clock: this.clock }),
    )
    const consumer = defineConsumer<unknown, unknown, MemoryTx>({
      name: 'consumer',
      id: messageId.header('id'),
      store: this.store,
      backoff: { initialMs: 100, maxMs: 1_000 },
      observe: (event) => this.events.push(event),
      ...(options as Omit<Options, 'onInDoubt'>),
      handle: (context) => {
        const id = String(context.message.headers['id'])
        this.runs.push(id)
        return handle(id, context)
      },
    })
    this.inline = runInline(consumer, { group: 'group', clock: this.clock })
    running.push(this)
  }

  handle(id: string): Promise<Settlement> {
    return this.inline.handle(messageOf(id))
  }

  count(type: ObserverEvent['type']): number {
    return this.events.filter((event) => event.type === type).length
  }
}

function messageOf(id: string): Message {
  const place = { destination: 'queue', origin: 'queue', position: '0@0' }
  return { system: 'rabbitmq', ...place, key: null, value: Buffer.from('{}'), headers: { id } }
}

const REMEMBER = { rememberResult: true }
const STRATEGIES = ['lease', 'inbox'] as const

class Declined extends Error {
  override readonly name = 'Declined'
  readonly code = 'CARD_DECLINED'
}

const declineAll: Handle = async (id, { tx }) => {
  await tx?.insert(id)
  throw new Declined('no cover')
}

const declineB: Handle = async (id, { tx }) => {
  await tx?.insert(id)
  if (id === 'b') throw new Declined('no cover')
  return id
}

const DECLINED = { name: 'Declined', message: 'no cover', code: 'CARD_DECLINED' }
const REMEMBER_DECLINED = { rememberFailure: (error: unknown) => error instanceof Declined }

describe.each(STRATEGIES)('with rememberResult and a store of strategy %s', (strategy) => {
  it.each([[undefined], [null], [''], [0], [{ id: 7, rows: [1, null] }]])(
    'hands %j to the run and to each duplicate of it [T57]',
    async (value) => {
      const desk = new Desk(strategy, () => value, REMEMBER)
      const first = await desk.handle('a')
      const second = await desk.handle('a')
      expect(first).toStrictEqual({ outcome: 'handled', settle: 'ack', result: value })
      expect(second).toStrictEqual({ outcome: 'duplicate', settle: 'ack', result: value })
      expect(desk.runs).toEqual(['a'])
    },
  )

  it('hands each message of a batch its own result', async () => {
    const desk = new Desk(strategy, (id) => ({ id }), REMEMBER)
    const ids = ['a', 'b', 'c']
    const settlements = await Promise.all(ids.map((id) => desk.handle(id)))
    expect(settlements.map(({ result }) => result)).toEqual(ids.map((id) => ({ id })))
    expect(await desk.handle('b')).toMatchObject({ outcome: 'duplicate', result: { id: 'b' } })
  })

  it('hands it to those that joined', async () => {
    const open = gate()
    const desk = new Desk(strategy, () => open.opened.then(() => 7), REMEMBER)
    const both = Promise.all([desk.handle('a'), desk.handle('a')])
    await turns()
    open.open()
    expect(await both).toEqual([
      { outcome: 'handled', settle: 'ack', result: 7 },
      { outcome: 'joined', settle: 'ack', result: 7 },
    ])
  })

  it('keeps the result of a mark whose answer was lost', async () => {
    const desk = new Desk(strategy, () => 7, REMEMBER)
    desk.store.script('mark', 'lose-reply')
    const handling = desk.handle('a')
    await turns()
    await desk.clock.advance(1_000)
    expect(await handling).toMatchObject({ outcome: 'handled', result: 7 })
    expect(await desk.handle('a')).toMatchObject({ outcome: 'duplicate', result: 7 })
  })

  it('tells the observer, as it is kept', async () => {
    const desk = new Desk(strategy, () => 7, REMEMBER)
    await desk.handle('a')
    const [ended] = desk.events.filter((event) => event.type === 'delivery')
    expect(ended).toMatchObject({ outcome: 'handled', result: 'v7' })
    expect(ended?.failure).toBeUndefined()
  })
})

describe.each(STRATEGIES)('without rememberResult, and a store of strategy %s,', (strategy) => {
  it('keeps nothing of what a handler returns', async () => {
    const desk = new Desk(strategy, () => 7)
    expect(await desk.handle('a')).toStrictEqual({ outcome: 'handled', settle: 'ack' })
    expect(await desk.handle('a')).toStrictEqual({ outcome: 'duplicate', settle: 'ack' })
  })
})

describe('a result that cannot be kept', () => {
  const circle: { self?: unknown } = {}
  circle.self = circle
  const UNKEEPABLE: readonly (readonly [string, unknown])[] = [
    ['a bigint', 7n],
    ['a function', () => {}],
    ['a circle', circle],
    [
      'what throws when it is asked',
      {
        toJSON: () => {
          throw new Error('no')
        },
      },
    ],
    ['one byte too much', 'x'.repeat(15)],
    ['one byte too much in UTF-8', 'ключ-------'],
  ]
  const CAPPED = { ...REMEMBER, maxResultBytes: 16, maxAttempts: 1 }

  it.each(UNKEEPABLE)('commits nothing of an inbox, and is dead-lettered: %s', async (_, value) => {
    const desk = new Desk('inbox', (id, { tx }) => tx?.insert(id).then(() => value), { ...CAPPED, maxAttempts: 5 })
    const settlement = await desk.handle('a')
    expect(settlement).toMatchObject({ outcome: 'dead-lettered', settle: 'dead-letter', reason: 'handler-failed' })
    expect(settlement.deadLetter).toMatchObject({ parked: false, attempts: 1, errorClass: 'TerminalError' })
    expect(settlement.deadLetter?.detail).toContain('what the handler returned cannot be kept')
    expect(desk.database.effects).toEqual([])
    expect(desk.runs).toEqual(['a'])
  })

  it.each(UNKEEPABLE)('is marked under a lease, whose effect has happened: %s', async (_, value) => {
    const desk = new Desk('lease', () => value, CAPPED)
    const failure = {
      name: 'ResultNotKept',
      code: 'RESULT_NOT_KEPT',
      message: expect.stringContaining('the effect happened'),
    }
    expect(await desk.handle('a')).toEqual({ outcome: 'handled', settle: 'ack', failure })
    expect(await desk.handle('a')).toEqual({ outcome: 'duplicate', settle: 'ack', failure })
    expect(desk.runs).toEqual(['a'])
    expect(desk.count('result-not-kept')).toBe(1)
    expect(desk.store.calls('release')).toEqual([])
  })

  it('is kept at the cap [T132]', async () => {
    const desk = new Desk('inbox', () => 'x'.repeat(14), CAPPED)
    expect(await desk.handle('a')).toMatchObject({ outcome: 'handled', result: 'x'.repeat(14) })
  })

  it('leaves the rest of its batch in an inbox alone', async () => {
    const desk = new Desk('inbox', (id, { tx }) => tx?.insert(id).then(() => (id === 'b' ? 7n : id)), REMEMBER)
    const settlements = await Promise.all(['a', 'b', 'c'].map((id) => desk.handle(id)))
    expect(settlements.map(({ outcome }) => outcome)).toEqual(['handled', 'dead-lettered', 'handled'])
    expect(desk.database.effects.toSorted()).toEqual(['a', 'c'])
  })
})

describe.each(STRATEGIES)('a failure that is to be remembered, with a store of strategy %s,', (strategy) => {
  it('is handed to each duplicate, runs once and writes nothing', async () => {
    const desk = new Desk(strategy, declineAll, REMEMBER_DECLINED)
    expect(await desk.handle('a')).toEqual({ outcome: 'handled', settle: 'ack', failure: DECLINED })
    expect(await desk.handle('a')).toEqual({ outcome: 'duplicate', settle: 'ack', failure: DECLINED })
    expect(desk.runs).toEqual(['a'])
    expect(desk.database.effects).toEqual([])
    const ends = desk.events.filter((event) => event.type === 'delivery')
    expect(ends.map(({ failure }) => failure)).toEqual([true, true])
    const [kept] = ends.map(({ result }) => result)
    expect(kept === undefined ? kept : readResult(kept)).toEqual({ kind: 'failure', failure: DECLINED })
  })

  it('leaves the rest of its batch alone', async () => {
    const desk = new Desk(strategy, declineB, { ...REMEMBER, ...REMEMBER_DECLINED })
    const settlements = await Promise.all(['a', 'b', 'c'].map((id) => desk.handle(id)))
    expect(settlements).toEqual([
      { outcome: 'handled', settle: 'ack', result: 'a' },
      { outcome: 'handled', settle: 'ack', failure: DECLINED },
      { outcome: 'handled', settle: 'ack', result: 'c' },
    ])
    expect(desk.database.effects.toSorted()).toEqual(strategy === 'inbox' ? ['a', 'c'] : [])
  })

  it('is the answer of one attempt, after others that were none', async () => {
    let attempts = 0
    const late: Handle = () => {
      if (++attempts < 3) throw new Error('not now')
      throw new Declined('no cover')
    }
    const desk = new Desk(strategy, late, REMEMBER_DECLINED)
    const handling = desk.handle('a')
    await turns()
    await desk.clock.advance(10_000)
    expect(await handling).toMatchObject({ outcome: 'handled', failure: DECLINED })
    expect(attempts).toBe(3)
  })

  it('is cut, whatever was thrown', async () => {
    const desk = new Desk(
      strategy,
      () => {
        throw Object.assign(new Error(`${'x'.repeat(1_022)}🔑${'x'.repeat(500)}`), {
          name: 'N'.repeat(1_000),
          code: 7,
        })
      },
      { rememberFailure: () => true },
    )
    const { failure } = await desk.handle('a')
    expect(failure?.name).toHaveLength(100)
    expect(failure?.message).toHaveLength(1_024)
    expect(failure).not.toHaveProperty('code')
    expect((await desk.handle('a')).failure).toEqual(failure)
  })

  it('is none where rememberFailure throws, or answers something else than true', async () => {
    for (const rememberFailure of [
      () => {
        throw new Error('a mistake')
      },
      () => 'yes' as unknown as boolean,
      (() => Promise.resolve(true)) as unknown as () => boolean,
    ]) {
      const desk = new Desk(
        strategy,
        () => {
          throw new Declined('no cover')
        },
        { rememberFailure, maxAttempts: 1 },
      )
      expect(await desk.handle('a')).toMatchObject({ outcome: 'dead-lettered', reason: 'attempts-spent' })
    }
  })

  it('tells the observer that rememberFailure threw', async () => {
    const desk = new Desk(
      strategy,
      () => {
        throw new Declined('no cover')
      },
      {
        maxAttempts: 1,
        rememberFailure: () => {
          throw new Error('a mistake')
        },
      },
    )
    await desk.handle('a')
    expect(desk.count('policy-threw')).toBe(1)
  })

  it('is not asked for after an abort', async () => {
    const asked: unknown[] = []
    const desk = new Desk(
      strategy,
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new NoEffectError('stopped in time')))
        }),
      { handlerTimeoutMs: 1_000, maxAttempts: 1, rememberFailure: (error) => asked.push(error) > 0 },
    )
    const handling = desk.handle('a')
    await turns()
    await desk.clock.advance(3_000)
    expect(await handling).toMatchObject({ outcome: 'dead-lettered' })
    expect(asked).toEqual([])
  })
})

describe('a failure that is to be remembered', () => {
  it('is not asked for where the handler says that the outcome is unknown', async () => {
    const asked: unknown[] = []
    const desk = new Desk(
      'lease',
      () => {
        throw new OutcomeUnknownError('the provider did not answer')
      },
      { onInDoubt: 'park', rememberFailure: (error) => asked.push(error) > 0 },
    )
    expect(await desk.handle('a')).toMatchObject({ outcome: 'parked', reason: 'in-doubt' })
    expect(asked).toEqual([])
  })

  it('parks a message in doubt: an earlier attempt may have had the effect', async () => {
    let attempts = 0
    const desk = new Desk(
      'lease',
      () => {
        if (++attempts === 1) throw new OutcomeUnknownError('the provider did not answer')
        throw new Declined('no cover')
      },
      REMEMBER_DECLINED,
    )
    const handling = desk.handle('a')
    await turns()
    await desk.clock.advance(60_000)
    expect(await handling).toMatchObject({ outcome: 'parked', reason: 'handler-failed', settle: 'dead-letter' })
    expect(attempts).toBe(2)
  })

  it('of a handler that left a query pending is tried again: nothing can be rolled back under it', async () => {
    const desk = new Desk(
      'inbox',
      async (_, { tx }) => {
        void tx?.stall()
        throw new Declined('no cover')
      },
      { ...REMEMBER_DECLINED, maxAttempts: 1 },
    )
    const { deadLetter } = await desk.handle('a')
    expect(deadLetter).toMatchObject({ errorClass: 'TransactionError' })
  })
})

it('a result that nobody can read keeps no delivery from ending', async () => {
  const desk = new Desk('inbox', () => 7, REMEMBER)
  await desk.handle('a')
  for (const [key, row] of desk.database.rows) desk.database.rows.set(key, { ...row, result: 'vno JSON' })
  expect(await desk.handle('a')).toMatchObject({
    outcome: 'duplicate',
    settle: 'ack',
    failure: { code: 'RESULT_UNREADABLE' },
  })
  expect(desk.events).toContainEqual(expect.objectContaining({ type: 'source', event: 'result-unreadable' }))
})
