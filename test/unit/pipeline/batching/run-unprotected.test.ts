import { afterEach, describe, expect, it } from '@jest/globals'
import { ConfigError, defineConsumer, OutcomeUnknownError, type ObserverEvent } from '../../../../src/index.ts'
import { memoryStore } from '../../../../src/memory/index.ts'
import { StoreError } from '../../../../src/foundation/errors.ts'
import { turns } from '../../../kit/manual-clock.ts'
import { InboxDatabase } from '../../../../testing/stores/inbox-database.ts'
import { MemoryInbox } from '../../../../testing/stores/memory-inbox.ts'
import { endRigs, gate, startRig, World, type Rig, type RigOptions } from '../../../kit/rig.ts'

afterEach(endRigs)

const HANDLERS = ['handle', 'handleBatch'] as const

function start(options: Partial<RigOptions> & { readonly handler?: (typeof HANDLERS)[number] } = {}): Promise<Rig> {
  const { handler = 'handle', ...others } = options
  return startRig({
    onStoreDown: 'run-unprotected',
    style: { strategy: 'lease', handler },
    effect: ({ apply }) => apply(),
    ...others,
  })
}

function unprotected({ events }: Rig): readonly string[] {
  return events.flatMap((event) =>
    event.type === 'unprotected-run' ? [`${String(event.message.headers['id'])} ${event.result}`] : [],
  )
}

async function storeIsBack(rig: Rig): Promise<void> {
  rig.store.isDown = false
  await rig.clock.advance(10_000)
}

describe.each(HANDLERS)('a store that is down under run-unprotected with %s', (handler) => {
  it('holds up no message: each runs without a claim, and is told [T245]', async () => {
    const rig = await start({ handler })
    rig.store.isDown = true
    await rig.deliver('a', 'b')
    await rig.deliver('c')
    expect(rig.outcomes()).toEqual(['handled', 'handled', 'handled'])
    expect(unprotected(rig).toSorted()).toEqual(['a handled', 'b handled', 'c handled'])
    expect(rig.source.calls).not.toContain('pause')
    expect(rig.running.health()).toMatchObject({ ready: true, checks: { store: 'down' } })
  })

  it('gets the marks of unprotected runs when it is back, so that a redelivery is a duplicate', async () => {
    const rig = await start({ handler })
    rig.store.isDown = true
    await rig.deliver('a', 'b')
    await storeIsBack(rig)
    await rig.deliver('a', 'b', 'c')
    expect(rig.outcomes().slice(2).toSorted()).toEqual(['duplicate', 'duplicate', 'handled'])
    expect(rig.world.effects).toEqual(['a', 'b', 'c'])
    expect(unprotected(rig)).toHaveLength(2)
  })

  it('that lost only its answer does not keep its claims', async () => {
    const rig = await start({ handler })
    rig.store.script('claim', 'lose-reply')
    await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['handled'])
    await storeIsBack(rig)
    await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['handled', 'duplicate'])
  })

  it('holds up no message that was claimed before it went down', async () => {
    const open = gate()
    const rig = await start({
      handler,
      effect: (work) => open.opened.then(work.apply),
      concurrency: 1,
      maxInFlight: 10,
    })
    await rig.deliver('a', 'b')
    rig.store.isDown = true
    open.open()
    await turns()
    expect(rig.outcomes()).toEqual(['handled', 'handled'])
    expect(unprotected(rig)).toEqual(['a handled', 'b handled'])
    await storeIsBack(rig)
    await rig.deliver('a', 'b')
    expect(rig.outcomes().slice(2)).toEqual(['duplicate', 'duplicate'])
  })

  it('runs again what was handled before, and is told that it did [T247]', async () => {
    const rig = await start({ handler })
    await rig.deliver('a')
    rig.store.isDown = true
    await rig.deliver('a')
    expect(rig.world.effects).toEqual(['a', 'a'])
    expect(unprotected(rig)).toEqual(['a handled'])
  })

  it('protects again when it is back, and not before [T248]', async () => {
    const rig = await start({ handler })
    rig.store.isDown = true
    await rig.deliver('a')
    // However long it takes: time alone ends no outage.
    await rig.clock.advance(1_800_000)
    await rig.deliver('b')
    expect(unprotected(rig)).toEqual(['a handled', 'b handled'])
    await storeIsBack(rig)
    await rig.deliver('c')
    expect(unprotected(rig)).toHaveLength(2)
    expect(rig.count('store-down')).toBe(1)
    expect(rig.count('store-up')).toBe(1)
  })
})

describe('a failure while the store is down under run-unprotected', () => {
  it('is tried again without an end, and dead-lettered by nobody [T246]', async () => {
    let isBroken = true
    const rig = await start({
      maxAttempts: 2,
      backoff: { initialMs: 100, maxMs: 100 },
      effect: ({ apply }) => {
        if (isBroken) throw new Error('no')
        return apply()
      },
    })
    rig.store.isDown = true
    await rig.deliver('a')
    await rig.clock.advance(1_000)
    expect(unprotected(rig).length).toBeGreaterThan(5)
    expect(rig.outcomes()).toEqual([])
    isBroken = false
    await rig.clock.advance(1_000)
    expect(rig.outcomes()).toEqual(['handled'])
    expect(rig.source.deadLetters).toEqual([])
  })

  it('counts attempts again when the store is back', async () => {
    const rig = await start({
      maxAttempts: 2,
      backoff: { initialMs: 100, maxMs: 100 },
      effect: () => {
        throw new Error('no')
      },
    })
    rig.store.isDown = true
    await rig.deliver('a')
    await rig.clock.advance(1_000)
    await storeIsBack(rig)
    expect(rig.outcomes()).toEqual(['dead-lettered'])
  })

  it('of a message that was claimed before holds up no other', async () => {
    const open = gate()
    let isBroken = true
    const rig = await start({
      concurrency: 1,
      maxInFlight: 10,
      maxAttempts: 1,
      effect: async ({ apply, id }) => {
        await open.opened
        if (isBroken && id === 'a') throw new Error('no')
        await apply()
      },
    })
    await rig.deliver('a', 'b')
    rig.store.isDown = true
    open.open()
    await turns()
    expect(rig.world.effects).toEqual(['b'])
    isBroken = false
    // Its record says given-up once the store is back; until then it may run.
    await rig.clock.advance(1_000)
    expect(rig.world.effects).toEqual(['b', 'a'])
    expect(rig.source.deadLetters).toEqual([])
  })

  it('whose effect is unknown waits for the store, if it is to be parked', async () => {
    const open = gate()
    const rig = await start({
      onInDoubt: 'park',
      effect: async () => {
        await open.opened
        throw new OutcomeUnknownError('no answer')
      },
    })
    await rig.deliver('a')
    rig.store.isDown = true
    open.open()
    await rig.clock.advance(60_000)
    expect(rig.started).toEqual(['a'])
    await storeIsBack(rig)
    expect(rig.outcomes()).toEqual(['parked'])
  })
})

describe('a lease that ends while the store is down', () => {
  it('does not abort its handler under run-unprotected, and is told', async () => {
    const open = gate()
    const aborts: unknown[] = []
    const rig = await start({
      leaseMs: 9_000,
      handlerTimeoutMs: 60_000,
      effect: async ({ apply, signal }) => {
        signal.addEventListener('abort', () => aborts.push(signal.reason))
        await open.opened
        await apply()
      },
    })
    await rig.deliver('a')
    rig.store.isDown = true
    await rig.clock.advance(30_000)
    expect(aborts).toEqual([])
    open.open()
    await turns()
    expect(rig.outcomes()).toEqual(['handled'])
    expect(unprotected(rig)).toContain('a handled')
  })

  it('aborts its handler when the store says that another owner has the message', async () => {
    const world = new World()
    const aborts: unknown[] = []
    const rig = await start({
      world,
      leaseMs: 9_000,
      effect: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            aborts.push(signal.reason)
            reject(new Error('aborted'))
          })
        }),
    })
    await rig.deliver('a')
    rig.store.isDown = true
    await world.clock.advance(20_000)
    const other = await startRig({ world, effect: ({ apply }) => apply() })
    await other.deliver('a')
    await world.clock.advance(5_000)
    expect(other.outcomes()).toEqual(['handled'])
    expect(aborts).toEqual([])
    rig.store.isDown = false
    await world.clock.advance(5_000)
    expect(aborts).toEqual([expect.objectContaining({ code: 'LEASE_LOST' })])
  })
})

describe('the edges of run-unprotected', () => {
  it('starts while the store is down, and is protected once it answers', async () => {
    const store = memoryStore()
    let isUp = false
    store.open = () => (isUp ? Promise.resolve() : Promise.reject(new StoreError('STORE_UNREACHABLE', 'not there')))
    const rig = await start({ world: Object.assign(new World(), { lease: store }) })
    await rig.deliver('a')
    expect(unprotected(rig)).toEqual(['a handled'])
    isUp = true
    await rig.clock.advance(10_000)
    await rig.deliver('a', 'b')
    expect(rig.outcomes().toSorted()).toEqual(['duplicate', 'handled', 'handled'])
    expect(unprotected(rig)).toHaveLength(1)
  })

  it('does not start with a store that can never work', async () => {
    const store = memoryStore()
    store.open = () => Promise.reject(new ConfigError(['no tables']))
    await expect(start({ world: Object.assign(new World(), { lease: store }) })).rejects.toThrow('no tables')
  })

  it('hands back what runs at a stop, and leaves nothing behind', async () => {
    const rig = await start({
      effect: ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
    })
    rig.store.isDown = true
    await rig.deliver('a')
    const stopping = rig.running.stop({ deadlineMs: 1_000 })
    await rig.clock.advance(10_000)
    await stopping
    expect(rig.outcomes()).toEqual(['handed-back'])
  })

  it('is refused with stores that give the transaction of the handler, and is off by default', async () => {
    const store = new MemoryInbox({ database: new InboxDatabase(), clock: new World().clock })
    expect(() => defineConsumer({ name: 'c', store, handle: () => {}, onStoreDown: 'run-unprotected' })).toThrow(
      /onStoreDown: expected "pause", got "run-unprotected".*store of strategy lease/,
    )
    const onStoreDown = 'run' as 'pause'
    expect(() => defineConsumer({ name: 'c', store: memoryStore(), handle: () => {}, onStoreDown })).toThrow(
      /onStoreDown: expected "pause" or "run-unprotected"/,
    )
    const rig = await startRig({ effect: ({ apply }) => apply() })
    rig.store.isDown = true
    await rig.deliver('a')
    await rig.clock.advance(60_000)
    expect(rig.started).toEqual([])
    expect(rig.source.calls).toContain('pause')
  })

  it('is no event of a store that answers', async () => {
    const rig = await start()
    await rig.deliver('a', 'a', 'b')
    const types = new Set(rig.events.map(({ type }: ObserverEvent) => type))
    expect(types.has('unprotected-run')).toBe(false)
    expect(rig.outcomes().toSorted()).toEqual(['handled', 'handled', 'joined'])
  })
})
