import { describe, expect, it } from '@jest/globals'
import {
  NoEffectError,
  OutcomeUnknownError,
  type OnceContext,
  type OnceOptions,
  type OnceReconciled,
} from '../../../src/index.ts'
import { turns } from '../../kit/manual-clock.ts'
import { gate } from '../../kit/rig.ts'
import { counted, Server, type Counted } from './server.ts'

const endsUnknown = () => {
  throw new OutcomeUnknownError('no answer')
}

describe('a function of once that does not end in time, or whose end is unknown', () => {
  it('aborts the function before its lease ends, and the key is in doubt', async () => {
    const server = new Server()
    const [a, b] = [server.process(), server.process()]
    let abortedAt: number | undefined
    const first = a.once(
      'k',
      ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            abortedAt = server.clock.monotonic()
            reject(signal.reason as Error)
          })
        }),
      { leaseMs: 3_000 },
    )
    await turns()
    a.store.isDown = true
    await expect(server.settled(first)).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(abortedAt).toBeLessThan(3_000)
    const park = b.once('k', () => 2, { onInDoubt: 'park' })
    await expect(park).rejects.toMatchObject({ code: 'ONCE_SET_ASIDE', reason: 'in-doubt' })
    await expect(b.once('k', () => 2)).rejects.toMatchObject({ code: 'ONCE_SET_ASIDE' })
  })

  it('rejects without a function that ignores its timeout, and keeps what it returns later', async () => {
    const server = new Server()
    const process = server.process()
    const open = gate()
    const work = counted(async () => {
      await open.opened
      return 'late'
    })
    const first = server.settled(process.once('k', work, { handlerTimeoutMs: 1_000, graceMs: 500, leaseMs: 60_000 }))
    await expect(first).rejects.toMatchObject({ code: 'HANDLER_TIMEOUT' })
    await expect(process.once('k', work, { whenBusy: 'refuse' })).rejects.toMatchObject({ code: 'ONCE_BUSY' })
    open.open()
    await turns()
    expect(await process.once('k', work)).toEqual({ result: 'late', replayed: true })
    expect(work.calls).toBe(1)
  })

  it.each([
    ['rerun', { onInDoubt: 'rerun' }, { result: 'again', replayed: false }, 2],
    [
      'a function that knows the result',
      { onInDoubt: (): OnceReconciled<string> => ({ result: 'it was' }) },
      { result: 'it was', replayed: false },
      1,
    ],
    [
      'a function that knows that nothing happened',
      { onInDoubt: (): OnceReconciled<string> => 'did-not-happen' },
      { result: 'again', replayed: false },
      2,
    ],
  ] as const)('decides about a key in doubt: %s', async (_name, options, answer, calls) => {
    const process = new Server().process()
    const work: Counted<string> = counted((): string => {
      if (work.calls === 1) throw new OutcomeUnknownError('no answer of the provider')
      return 'again'
    })
    await expect(process.once('k', work)).rejects.toThrow('no answer')
    expect(await process.once('k', work, options as OnceOptions<string>)).toEqual(answer)
    expect(work.calls).toBe(calls)
  })

  it('parks a key in doubt whose function cannot tell, and asks again if it throws', async () => {
    const process = new Server().process()
    await expect(process.once('k', endsUnknown)).rejects.toThrow('no answer')
    const asks = (onInDoubt: OnceOptions<never>['onInDoubt']) =>
      process.once('k', endsUnknown, onInDoubt ? { onInDoubt } : {})
    await expect(asks(() => Promise.reject(new Error('provider down')))).rejects.toThrow('provider down')
    await expect(asks(() => 'unknown')).rejects.toMatchObject({ code: 'ONCE_SET_ASIDE', reason: 'in-doubt' })
  })

  it('passes the signal of its caller on, and an aborted function that says so had no effect', async () => {
    const process = new Server().process()
    const controller = new AbortController()
    const work = counted(async ({ signal }: OnceContext) => {
      controller.abort(new Error('gone'))
      throw signal.aborted ? new NoEffectError('stopped in time') : new Error('not aborted')
    })
    await expect(process.once('k', work, { signal: controller.signal })).rejects.toThrow('stopped in time')
    expect(await process.once('k', () => 2, { onInDoubt: 'park' })).toEqual({ result: 2, replayed: false })
    await expect(process.once('j', work, { signal: controller.signal })).rejects.toThrow('gone')
    expect(work.calls).toBe(1)
  })

  it('answers with the result of another owner that was quicker', async () => {
    const server = new Server()
    const [a, b] = [server.process(), server.process()]
    const open = gate()
    const first = a.once('k', () => open.opened.then(() => 'late'), { leaseMs: 3_000 })
    await turns()
    // The process of the first is paused for longer than its lease.
    server.clock.skip(10_000)
    expect(await b.once('k', () => 'quicker')).toEqual({ result: 'quicker', replayed: false })
    open.open()
    expect(await server.settled(first)).toEqual({ result: 'quicker', replayed: true })
  })
})
