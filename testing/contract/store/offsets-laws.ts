import { expect } from '../expect.ts'
import { claim, claimAll, grantedBy, hold, newName, newToken, only, SCOPE } from './claims.ts'
import { ALONE, NO_REFUND, REFUND } from './given.ts'
import type { OffsetsHarness, StoreLaw } from './harness.ts'
import {
  messages,
  verdicts,
  grantedIn,
  holdAll,
  streamBehind,
  writeIn,
  positionsOf,
  next,
  stored,
  timed,
  one,
  consume,
} from './streams.ts'

/** Laws for stores that keep one position for each stream. */
export const offsetsLaws: readonly StoreLaw<OffsetsHarness>[] = [
  {
    name: 'grants a stream in its order over gaps, and answers done to all of it once it is marked',
    async run({ store, secondStore }) {
      const items = messages(newName(), [3n, 4n, 9n])
      const claims = await holdAll(store, items)
      expect(await store.mark(claims)).toEqual(['marked', 'marked', 'marked'])
      expect(await verdicts(store, items)).toEqual(['done', 'done', 'done'])
      expect(await verdicts(await secondStore(), items, ALONE)).toEqual(['done', 'done', 'done'])
    },
  },
  {
    name: 'moves the position with the mark, and in no other way',
    async run({ store }) {
      const stream = newName()
      const item = one(messages(stream, [3n]))
      await store.mark(await holdAll(store, messages(stream, [0n])))
      expect(await next(store, stream)).toBe(1n)
      const after = { ...item, position: { stream, offset: 3n, follows: 1n } }
      const { claim: claimed } = await hold(store, after)
      expect(await next(store, stream)).toBe(1n)
      await store.release([claimed], NO_REFUND)
      expect(await next(store, stream)).toBe(1n)
      await store.mark([(await hold(store, after, ALONE)).claim])
      expect(await next(store, stream)).toBe(4n)
    },
  },
  {
    name: 'tells the positions of the streams that have one, each scope its own',
    async run({ store }) {
      const [first, second] = [newName(), newName()]
      await store.mark(await holdAll(store, [...messages(first, [0n, 1n]), ...messages(second, [7n])]))
      const told = await positionsOf(store).next(SCOPE, [first, newName(), second])
      expect(new Map([...told].map(([stream, position]) => [stream, position.next]))).toEqual(
        new Map([
          [first, 2n],
          [second, 8n],
        ]),
      )
      expect(await positionsOf(store).next('contract/other', [first, second])).toEqual(new Map())
      expect(await positionsOf(store).next(SCOPE, [])).toEqual(new Map())
    },
  },
  {
    name: 'grants nothing that follows what is not over, nor what follows something in a stream without a position',
    async run({ store }) {
      const stream = newName()
      expect(await verdicts(store, messages(stream, [5n, 6n], 5n))).toEqual(['behind', 'behind'])
      await store.mark(await holdAll(store, messages(stream, [0n, 1n])))
      expect(await verdicts(store, messages(stream, [3n, 4n], 3n), ALONE)).toEqual(['behind', 'behind'])
      const [granted] = await claimAll(store, [...messages(stream, [3n], 2n), ...messages(stream, [6n], 5n)])
      await store.mark([grantedBy(granted).claim])
      expect(await next(store, stream)).toBe(4n)
    },
  },
  {
    name: 'lets nothing pass what is set aside, in any claim, until that is over',
    async run({ store, secondStore }) {
      const stream = newName()
      const items = messages(stream, [0n, 1n, 2n])
      const [first, ...others] = items
      if (first === undefined) throw new Error('expected a message')
      expect(await store.setAside([(await hold(store, first)).claim], 'given-up', { reason: 'why' })).toEqual([
        'given-up',
      ])
      expect(await next(store, stream)).toBe(0n)
      for (const how of [{}, ALONE]) {
        expect((await verdicts(store, items, how))[0]).toBe('given-up')
        expect(await grantedIn(store, items, how)).toBe(0)
        expect(await grantedIn(await secondStore(), others, how)).toBe(0)
      }
      const positions = positionsOf(store)
      await positions.pass(SCOPE, { stream, offset: 1n })
      expect(await next(store, stream)).toBe(0n)
      await positions.pass(SCOPE, { stream, offset: 0n })
      await positions.pass(SCOPE, { stream, offset: 0n })
      expect(await next(store, stream)).toBe(1n)
      expect(await verdicts(store, [first])).toEqual(['done'])
      await store.mark(await holdAll(store, others))
      expect(await next(store, stream)).toBe(3n)
    },
  },
  {
    name: 'passes nothing but what is set aside',
    async run({ store }) {
      const stream = await streamBehind(store, 0n)
      const claims = await holdAll(store, messages(stream, [1n], 1n))
      await positionsOf(store).pass(SCOPE, { stream, offset: 1n })
      await positionsOf(store).pass(SCOPE, { stream: newName(), offset: 0n })
      expect(await next(store, stream)).toBe(1n)
      expect(await store.mark(claims)).toEqual(['marked'])
      expect(await next(store, stream)).toBe(2n)
    },
  },
  {
    name: 'sets aside the lowest of what was granted of a stream, behind a gap too, and nothing above it',
    async run({ store }) {
      const stream = await streamBehind(store, 0n)
      const [lowest, higher] = await holdAll(store, messages(stream, [4n, 5n], 1n))
      if (lowest === undefined || higher === undefined) throw new Error('expected two claims')
      expect(await store.setAside([higher], 'given-up', { reason: 'no' })).toEqual(['refused'])
      expect(await next(store, stream)).toBe(1n)
      expect(await store.setAside([lowest], 'parked', { reason: 'wait' })).toEqual(['parked'])
      expect(await claim(store, one(messages(stream, [4n], 1n)))).toMatchObject({ verdict: 'parked', reason: 'wait' })
      expect(await next(store, stream)).toBe(4n)
    },
  },
  {
    name: 'takes a position that went back for what it is: nothing behind it is over',
    async run(harness) {
      const { store } = harness
      const stream = await streamBehind(store, 0n, 1n, 2n, 3n)
      await harness.move(stream, 2n)
      expect(await verdicts(store, messages(stream, [4n], 4n))).toEqual(['behind'])
      for (const item of messages(stream, [2n, 3n, 4n], 2n)) {
        expect(await store.mark([(await hold(store, item, ALONE)).claim])).toEqual(['marked'])
      }
      await harness.move(stream, undefined)
      expect(await verdicts(store, messages(stream, [5n], 5n))).toEqual(['behind'])
    },
  },
  {
    name: 'tells the timestamp of the message right before the position, and of no other',
    async run({ store }) {
      const stream = newName()
      await store.mark(await holdAll(store, timed(messages(stream, [0n, 1n]), [1_000, 2_000])))
      expect(await stored(store, stream)).toMatchObject({ next: 2n, timestamp: 2_000 })
      await store.mark(await holdAll(store, timed(messages(stream, [2n], 2n), [undefined])))
      expect((await stored(store, stream))?.timestamp).toBe(undefined)
      const [bad] = await holdAll(store, timed(messages(stream, [3n], 3n), [4_000]))
      if (bad === undefined) throw new Error('expected a claim')
      await store.setAside([bad], 'given-up', { reason: 'why' })
      await positionsOf(store).pass(SCOPE, { stream, offset: 3n, timestamp: 4_000 })
      expect(await stored(store, stream)).toMatchObject({ next: 4n, timestamp: 4_000 })
    },
  },
  {
    name: 'grants nothing of a stream that is held, to anybody, and calls nothing of it done',
    async run({ store, secondStore }) {
      const [stream, other] = [newName(), newName()]
      const items = messages(stream, [0n, 1n])
      await store.mark(await holdAll(store, items))
      await store.mark(await holdAll(store, messages(other, [0n])))
      const positions = positionsOf(store)
      await positions.hold(SCOPE, { stream, next: 1n }, 'not there any more')
      expect(await verdicts(store, items)).toEqual(['done', 'done'])
      await positions.hold(SCOPE, { stream, next: 2n }, 'created anew')
      await positions.hold(SCOPE, { stream, next: 2n }, 'another reason')
      expect(await stored(store, stream)).toMatchObject({ next: 2n, held: 'created anew' })
      expect(await stored(store, other)).toMatchObject({ next: 1n, held: undefined })
      const fresh = messages(stream, [2n], 2n)
      for (const how of [{}, ALONE]) {
        expect(await verdicts(store, [...items, ...fresh], how)).toEqual(['behind', 'behind', 'behind'])
        expect(await verdicts(await secondStore(), fresh, how)).toEqual(['behind'])
      }
      await positions.prove(SCOPE, { stream, next: 1n })
      expect((await stored(store, stream))?.held).toBe('created anew')
      await positions.prove(SCOPE, { stream, next: 2n })
      await store.mark(await holdAll(store, fresh))
      expect(await next(store, stream)).toBe(3n)
    },
  },
  {
    name: 'refuses a mark in a stream that was held meanwhile, and commits nothing',
    async run(harness) {
      const { store } = harness
      const [stream, effect] = [await streamBehind(store, 0n), newName()]
      const claims = await holdAll(store, messages(stream, [1n], 1n))
      await writeIn(harness, claims[0], effect)
      await positionsOf(await harness.secondStore()).hold(SCOPE, { stream, next: 1n }, 'created anew')
      expect(only(await store.mark(claims))).toMatch(/^refused/)
      expect(await stored(store, stream)).toMatchObject({ next: 1n, held: 'created anew' })
      expect(await harness.committed(effect)).toBe(0)
    },
  },
  {
    name: 'ends a hold when a person says where the stream goes on, and changes nothing that is not held',
    async run({ store }) {
      const positions = positionsOf(store)
      const why = { by: 'kim', reason: 'OPS-1' }
      for (const [from, expected] of [
        [undefined, 2n],
        [0n, 0n],
        [7n, 7n],
      ] as const) {
        const stream = newName()
        await store.mark(await holdAll(store, timed(messages(stream, [0n, 1n]), [1_000, 2_000])))
        expect(await positions.release(SCOPE, stream, { from: 9n, ...why })).toBe('not-held')
        expect(await stored(store, stream)).toMatchObject({ next: 2n, timestamp: 2_000 })
        await positions.hold(SCOPE, { stream, next: 2n }, 'created anew')
        const listed = (await positions.list(SCOPE)).find((position) => position.stream === stream)
        expect(listed).toMatchObject({ next: 2n, held: 'created anew' })
        expect(await positions.release(SCOPE, stream, { from, ...why })).toBe('released')
        // The message before it proves nothing any more.
        expect(await stored(store, stream)).toEqual({ next: expected, timestamp: undefined, held: undefined })
        await store.mark(await holdAll(store, messages(stream, [expected], expected)))
        expect(await next(store, stream)).toBe(expected + 1n)
      }
      expect(await positions.release(SCOPE, newName(), { from: 0n, ...why })).toBe('no-position')
    },
  },
  {
    name: 'refuses a mark where another hand has moved the position, and commits nothing',
    async run(harness) {
      const { store } = harness
      for (const moved of [0n, 7n, undefined]) {
        const [stream, effect] = [await streamBehind(store, 0n), newName()]
        const claims = await holdAll(store, messages(stream, [1n], 1n))
        await writeIn(harness, claims[0], effect)
        await harness.move(stream, moved)
        expect(only(await store.mark(claims))).toMatch(/^refused/)
        expect(await next(store, stream)).toBe(moved)
        expect(await harness.committed(effect)).toBe(0)
      }
    },
  },
  {
    name: 'counts one attempt for all that a transaction shared, and then each alone',
    async run({ store }) {
      const stream = newName()
      const items = messages(stream, [0n, 2n, 5n])
      await store.release(await holdAll(store, items), NO_REFUND)
      expect(await verdicts(store, items)).toEqual(['again-alone', 'again-alone', 'again-alone'])
      const told = await claimAll(store, [...items, ...messages(stream, [6n], 6n)])
      expect(told.map((answer) => ('attempts' in answer ? answer.attempts : answer.verdict))).toEqual([1, 1, 1, 0])
      for (const [index, item] of items.entries()) {
        expect(await verdicts(store, items.slice(index))).toEqual(items.slice(index).map(() => 'again-alone'))
        const granted = await hold(store, item, ALONE)
        expect(granted.attempt).toBe(2)
        await store.mark([granted.claim])
      }
      const [fresh] = await claimAll(store, messages(stream, [6n], 6n))
      expect(grantedBy(fresh).attempt).toBe(1)
      await store.release([grantedBy(fresh).claim], NO_REFUND)
    },
  },
  {
    name: 'lets what was started before share a claim with nothing behind it',
    async run({ store }) {
      const items = messages(newName(), [0n, 1n])
      const [first] = items
      if (first === undefined) throw new Error('expected a message')
      await store.release([(await hold(store, first)).claim], NO_REFUND)
      const answers = await claimAll(store, items, ALONE)
      expect(answers.map(({ verdict }) => verdict)).toEqual(['claimed', 'again-alone'])
      await store.release([grantedBy(answers[0]).claim], NO_REFUND)
    },
  },
  {
    name: 'gives back the attempt of a transaction as a whole, and only its own',
    async run({ store }) {
      const items = messages(newName(), [0n, 1n, 2n])
      for (const _ of [1, 2, 3]) {
        const claims = await holdAll(store, items)
        expect(claims.map(({ attempt }) => attempt)).toEqual([1, 1, 1])
        await store.release(claims, REFUND)
      }
    },
  },
  {
    name: 'moves behind what ran of a stream, and gives the attempts of the rest back',
    async run({ store }) {
      const [stream, other] = [newName(), newName()]
      const items = messages(stream, [0n, 1n, 4n, 5n])
      const claims = await holdAll(store, [...items, ...messages(other, [7n, 8n])])
      claims[0]?.transaction.giveBack(claims.slice(2))
      expect(await store.mark(claims.slice(0, 2))).toEqual(['marked', 'marked'])
      expect([await next(store, stream), await next(store, other)]).toEqual([2n, 7n])
      const rest = await holdAll(store, [...messages(stream, [4n, 5n], 2n), ...messages(other, [7n, 8n])])
      expect(rest.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1])
      await store.release(rest, REFUND)
    },
  },
  {
    name: 'gives the attempts back of what never began of a stream that is rolled back, and of nothing before it',
    async run({ store }) {
      const stream = newName()
      const items = messages(stream, [0n, 1n, 2n, 3n])
      const claims = await holdAll(store, items)
      const [first, second] = claims
      if (first === undefined || second === undefined) throw new Error('expected two claims')
      first.transaction.giveBack(claims.slice(2))
      // The starts of a stream are counted together: the first began before the second, which counts.
      await store.release([first], REFUND)
      await store.release([second], NO_REFUND)
      expect((await claimAll(store, items)).map((told) => ('attempts' in told ? told.attempts : told.verdict))).toEqual(
        [1, 1, 0, 0],
      )
      for (const item of items.slice(0, 2)) await store.mark([(await hold(store, item, ALONE)).claim])
      const rest = await holdAll(store, messages(stream, [2n, 3n], 2n))
      expect(rest.map(({ attempt }) => attempt)).toEqual([1, 1])
      await store.mark(rest)
    },
  },
  {
    name: 'counts an attempt once for a claim that is sent again',
    async run({ store, secondStore }) {
      const items = messages(newName(), [0n, 1n])
      const token = newToken()
      const lost = await secondStore()
      await lost.release(await holdAll(lost, items, { token }), NO_REFUND)
      const claims = await holdAll(store, items, { token })
      expect(claims.map(({ attempt }) => attempt)).toEqual([1, 1])
      await store.mark(claims)
    },
  },
  {
    name: 'has one effect of each message, in order, however many believe to own the stream [T40]',
    async run(harness) {
      const stream = newName()
      const offsets = Array.from({ length: 30 }, (_, index) => BigInt(index * 2))
      const owners = [harness.store, await harness.secondStore(), harness.store]
      await Promise.all(owners.map((store, index) => consume(harness, store, messages(stream, offsets), 3 + index)))
      for (const offset of offsets) expect(await harness.committed(`${stream}@${offset}`)).toBe(1)
      expect(await next(harness.store, stream)).toBe(59n)
    },
  },
]
