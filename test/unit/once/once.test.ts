import { describe, expect, it } from '@jest/globals'
import { once, RememberedFailureError, type OnceContext, type OnceOptions } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import type { InboxStore, LeaseStore } from '../../../src/internal.ts'
import { InboxDatabase } from '../../../testing/stores/inbox-database.ts'
import { MemoryInbox } from '../../../testing/stores/memory-inbox.ts'
import type { MemoryTx } from '../../../testing/stores/memory-transaction.ts'
import { ManualClock, turns } from '../../kit/manual-clock.ts'
import { gate } from '../../kit/rig.ts'
import { clocks, counted, Server, type Counted } from './server.ts'

describe('once on a lease store', () => {
  it('refuses a payload with a lone surrogate: two of them have the same bytes', async () => {
    const store = memoryStore()
    for (const payload of ['\ud800', 'a\udc00b']) {
      await expect(once(store, 'k', () => 1, { payload })).rejects.toThrow(
        'payload: expected bytes, or text without a lone surrogate, got string',
      )
    }
    expect(await once(store, 'k', () => 1, { payload: '\u{1f600}' })).toMatchObject({ result: 1 })
  })

  it('calls the function for the first call, and answers the others with its result', async () => {
    const server = new Server()
    const work = counted(({ attempt, fence, idempotencyKey }: OnceContext) => ({
      attempt,
      fence,
      n: idempotencyKey.length,
    }))
    const answers = [await server.process().once('k', work), await server.process().once('k', work)]
    expect(answers).toEqual([
      { result: { attempt: 1, fence: 1, n: 43 }, replayed: false },
      { result: { attempt: 1, fence: 1, n: 43 }, replayed: true },
    ])
    expect(work.calls).toBe(1)
    expect(await server.process().once('other', work, { scope: 'another' })).toMatchObject({ replayed: false })
  })

  it.each([[undefined], [null], [''], [0], [false], [[]], [{ at: new Date(0) }]])(
    'keeps the result %j for every caller',
    async (value) => {
      const process = new Server().process()
      const kept: unknown = value === undefined ? undefined : JSON.parse(JSON.stringify(value))
      expect(await process.once<unknown>('k', () => value)).toEqual({ result: kept, replayed: false })
      expect(await process.once<unknown>('k', () => 'again')).toEqual({ result: kept, replayed: true })
    },
  )

  it('calls the function once for a hundred concurrent calls of two processes', async () => {
    const server = new Server()
    const [a, b] = [server.process(), server.process()]
    const open = gate()
    const work = counted(async () => {
      await open.opened
      return 'paid'
    })
    const calls = Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? a : b).once('k', work))
    await turns()
    open.open()
    const answers = await server.settled(Promise.all(calls))
    expect(work.calls).toBe(1)
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
    expect(new Set(answers.map(({ result }) => result))).toEqual(new Set(['paid']))
    // Those of one process wait in it: only one of them polls.
    expect(b.store.calls('claim').length).toBeLessThan(20)
  })

  it('calls the function of a waiting call when the first one failed, never both at once', async () => {
    const server = new Server()
    const process = server.process()
    let [running, most] = [0, 0]
    const work: Counted<Promise<string>> = counted(async () => {
      most = Math.max(most, ++running)
      await turns(1)
      running--
      if (work.calls < 3) throw new Error(`no ${work.calls}`)
      return 'yes'
    })
    const ends = await server.settled(Promise.allSettled([1, 2, 3, 4].map(() => process.once('k', work))))
    expect(ends).toMatchObject([
      { reason: new Error('no 1') },
      { reason: new Error('no 2') },
      { value: { result: 'yes', replayed: false } },
      { value: { result: 'yes', replayed: true } },
    ])
    expect(most).toBe(1)
  })

  it('refuses a call while another is under way, in this and in another process', async () => {
    const server = new Server()
    const [a, b] = [server.process(), server.process()]
    const open = gate()
    const first = a.once('k', () => open.opened)
    await turns()
    for (const process of [a, b]) {
      await expect(process.once('k', () => 2, { whenBusy: 'refuse' })).rejects.toMatchObject({ code: 'ONCE_BUSY' })
    }
    open.open()
    await first
  })

  it('bounds the wait by time and by the signal', async () => {
    const server = new Server()
    const [a, b] = [server.process(), server.process()]
    const open = gate()
    const first = a.once('k', () => open.opened, { handlerTimeoutMs: 600_000 })
    await turns()
    for (const process of [a, b]) {
      await expect(server.settled(process.once('k', () => 2, { waitMs: 5_000 }))).rejects.toMatchObject({
        code: 'ONCE_BUSY',
      })
      const controller = new AbortController()
      const aborted = process.once('k', () => 2, { signal: controller.signal })
      await turns()
      controller.abort(new Error('gone'))
      await expect(aborted).rejects.toThrow('gone')
    }
    open.open()
    await first
  })

  it('refuses the key with another payload', async () => {
    const process = new Server().process()
    await process.once('k', () => 1, { payload: 'a' })
    await expect(process.once('k', () => 2, { payload: 'b' })).rejects.toMatchObject({ code: 'ONCE_CONFLICT' })
    expect(await process.once('k', () => 2, { payload: Buffer.from('a') })).toEqual({ result: 1, replayed: true })
  })

  it('does not answer a concurrent call that has another payload with the result', async () => {
    const server = new Server()
    const process = server.process()
    const open = gate()
    const first = process.once('k', () => open.opened, { payload: 'a' })
    const second = process.once('k', async () => {}, { payload: 'b' })
    await turns()
    open.open()
    await first
    await expect(server.settled(second)).rejects.toMatchObject({ code: 'ONCE_CONFLICT' })
  })

  it('frees the key when the function throws', async () => {
    const process = new Server().process()
    const work: Counted<string> = counted((): string => {
      if (work.calls === 1) throw new Error('no')
      return 'yes'
    })
    await expect(process.once('k', work)).rejects.toThrow('no')
    expect(await process.once('k', work)).toEqual({ result: 'yes', replayed: false })
  })

  it('remembers a failure by choice, and repeats it', async () => {
    const process = new Server().process()
    const declined = Object.assign(new Error('declined'), { name: 'CardError', code: 'DECLINED' })
    const work = counted(() => {
      throw declined
    })
    const options = { rememberFailure: (error: unknown) => error === declined }
    await expect(process.once('k', work, options)).rejects.toBe(declined)
    const duplicate = process.once('k', work, options)
    await expect(duplicate).rejects.toMatchObject({ name: 'CardError', message: 'declined', code: 'DECLINED' })
    await expect(duplicate).rejects.toBeInstanceOf(RememberedFailureError)
    expect(work.calls).toBe(1)
  })

  it.each([
    ['a value without a JSON form', (): unknown => 1n, {}],
    ['a value that is too large', (): unknown => 'x'.repeat(200), { maxResultBytes: 100 }],
  ] as const)('tells %s before the mark, and does not run again', async (_name, value, options) => {
    const process = new Server().process()
    const work = counted(value)
    for (let call = 0; call < 2; call++) {
      await expect(process.once('k', work, options)).rejects.toMatchObject({ code: 'RESULT_NOT_KEPT' })
    }
    expect(work.calls).toBe(1)
  })

  it('keeps the result sealed', async () => {
    const process = new Server().process()
    const sealResult = {
      seal: (text: string, key: string) => Buffer.from(`${key} ${text}`).toString('base64'),
      open: (text: string, key: string) =>
        Buffer.from(text, 'base64')
          .toString()
          .slice(key.length + 1),
    }
    expect(await process.once('k', () => 'secret', { sealResult })).toEqual({ result: 'secret', replayed: false })
    expect(await process.once('k', () => 'other', { sealResult })).toEqual({ result: 'secret', replayed: true })
    await expect(process.once('k', () => 'other')).rejects.toMatchObject({ code: 'RESULT_UNREADABLE' })
  })

  it('asks a lost answer again with the same token: one run, one mark', async () => {
    const server = new Server()
    const process = server.process()
    for (const call of ['claim', 'mark'] as const) process.store.script(call, 'lose-reply', 'lose-request')
    const work = counted(() => 'ok')
    expect(await server.settled(process.once('k', work))).toEqual({ result: 'ok', replayed: false })
    expect(work.calls).toBe(1)
    expect(new Set(process.store.calls('claim').map(({ token }) => token)).size).toBe(1)
    expect(await process.once('k', work)).toEqual({ result: 'ok', replayed: true })
  })

  it('gives up when the store does not answer, without a call of the function', async () => {
    const server = new Server()
    const process = server.process()
    process.store.isDown = true
    const work = counted(() => 'ok')
    const call = server.settled(process.once('k', work, { waitMs: 2_000 }))
    await expect(call).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
    expect(work.calls).toBe(0)
  })

  it('tells that the mark is unknown, and replays the result if it was written', async () => {
    const server = new Server()
    const process = server.process()
    process.store.onCall = ({ call }) => {
      if (call === 'mark') process.store.isDown = true
    }
    const call = server.settled(process.once('k', () => 'ok', { leaseMs: 3_000 }))
    await expect(call).rejects.toMatchObject({ code: 'STORE_AMBIGUOUS' })
  })

  it('renews the lease while the function runs', async () => {
    const server = new Server()
    const [a, b] = [server.process(), server.process()]
    const open = gate()
    const first = a.once('k', () => open.opened, { leaseMs: 3_000 })
    await server.clock.advance(20_000)
    await expect(b.once('k', () => 2, { whenBusy: 'refuse' })).rejects.toMatchObject({ code: 'ONCE_BUSY' })
    open.open()
    expect(await first).toMatchObject({ replayed: false })
  })

  it('tells all problems of its arguments at once', async () => {
    const bad = once(
      undefined as unknown as LeaseStore,
      ' ',
      1 as unknown as () => void,
      {
        leaseMs: 0,
        whenbusy: 'wait',
      } as OnceOptions<void>,
    )
    await expect(bad).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      problems: [
        'once: whenbusy: unknown option; did you mean whenBusy?',
        expect.stringMatching(
          /^once: leaseMs: expected a whole number from 100 to 2147483647 .*, got 0: it is renewed/,
        ),
        'once: fn: expected a function, got 1',
        'once: key: expected text that is not blank',
        'once: store: expected a store such as postgresInbox({ pool }), redisLease({ redis }) or memoryStore(), got undefined',
      ],
    })
  })
})

const opened = (): { store: InboxStore<MemoryTx>; database: InboxDatabase; options: OnceOptions<never> } => {
  const database = new InboxDatabase()
  const clock = new ManualClock()
  clocks.push(clock)
  return { store: new MemoryInbox({ database, clock }), database, options: { clock, purge: 'never' } }
}

const failing = async ({ tx }: OnceContext<MemoryTx>): Promise<never> => {
  await tx.insert('effect')
  throw new Error('no')
}

const unkept = async ({ tx }: OnceContext<MemoryTx>): Promise<bigint> => {
  await tx.insert('effect')
  return 1n
}

const writing = async ({ tx }: OnceContext<MemoryTx>): Promise<string> => {
  await tx.insert('effect')
  return 'ok'
}

describe('once on an inbox store', () => {
  it('commits the effect with its mark', async () => {
    const { store, database, options } = opened()
    expect(await once(store, 'k', writing, options)).toEqual({ result: 'ok', replayed: false })
    expect(await once(store, 'k', writing, options)).toEqual({ result: 'ok', replayed: true })
    expect(database.effects).toEqual(['effect'])
  })

  it('rolls back when the function throws, also for a remembered failure, and when its result cannot be kept [T276]', async () => {
    const { store, database, options } = opened()
    await expect(once(store, 'k', failing, options)).rejects.toThrow('no')
    await expect(once(store, 'k', failing, { ...options, rememberFailure: () => true })).rejects.toThrow('no')
    await expect(once(store, 'k', failing, options)).rejects.toMatchObject({ name: 'Error', message: 'no' })
    await expect(once(store, 'j', unkept, options)).rejects.toMatchObject({ code: 'RESULT_NOT_KEPT' })
    expect(database.effects).toEqual([])
    expect(await once<unknown, MemoryTx>(store, 'j', () => 1, options)).toEqual({ result: 1, replayed: false })
  })

  it('refuses onInDoubt', async () => {
    const { store, options } = opened()
    await expect(once(store, 'k', () => 1, { ...options, onInDoubt: 'park' })).rejects.toThrow('onInDoubt')
  })
})
