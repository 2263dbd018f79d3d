import { afterEach, describe, expect, it } from '@jest/globals'
import { hasCode } from '../../../../src/foundation/errors.ts'
import { endRigs, startRig, STYLES, type Rig } from '../../../kit/rig.ts'
import type { StoreCall } from '../../../kit/scripted-store.ts'

afterEach(endRigs)

type Answer = Readonly<Record<string, unknown>>

/** What a store of one's own may answer in place of what it means. */
const NONSENSE: readonly (readonly [string, StoreCall, (answer: unknown) => unknown])[] = [
  ['a claim that is no answer', 'claim', () => undefined],
  ['a claim of null', 'claim', () => null],
  ['a verdict with a blank', 'claim', (answer) => ({ ...(answer as Answer), verdict: 'claimed ' })],
  ['a claim without its claim', 'claim', (answer) => ({ ...(answer as Answer), claim: undefined })],
  ['a claim of another key', 'claim', (answer) => withClaim(answer, { key: 'AAAAAAAAAAAAAAAAAAAAAA' })],
  ['a claim under another token', 'claim', (answer) => withClaim(answer, { token: 'of somebody else' })],
  ['a claim without its attempt', 'claim', (answer) => ({ ...(answer as Answer), attempt: undefined })],
  ['a claim with two attempts', 'claim', (answer) => withClaim(answer, { attempt: 7 })],
  ['a done with a result that is no text', 'claim', () => ({ verdict: 'done', result: { kept: true } })],
  ['a done since a time that is none', 'claim', () => ({ verdict: 'done', since: 'yesterday' })],
  ['a busy without a time', 'claim', () => ({ verdict: 'busy' })],
  ['a parked without a reason', 'claim', () => ({ verdict: 'parked' })],
  ['a verdict of a mark for one of a claim', 'claim', () => ({ verdict: 'marked' })],
  ['a mark that is no answer', 'mark', () => undefined],
  ['a mark with a blank', 'mark', () => 'marked '],
  ['a mark of true', 'mark', () => true],
]

describe.each(STYLES)('an answer that the protocol does not know ($strategy, $handler)', (style) => {
  it.each(NONSENSE)('%s: nothing is settled on it, and the store is asked again', async (_, call, nonsense) => {
    const rig = await startRig({ style, shares: true, effect: (work) => work.apply() })
    rig.store.script(call, (answers) => answers.map(nonsense))
    const deliveries = await rig.deliver('a', 'b')
    expect(deliveries.map(({ settled }) => settled)).toEqual([0, 0])
    expect(rig.outcomes()).toEqual([])
    expect(misuses(rig)).toBe(1)
    expect(rig.running.health()).toMatchObject({ live: true, ready: false, checks: { store: 'down' } })
    await rig.clock.advance(2_000)
    expect(deliveries.map(({ settled }) => settled)).toEqual([1, 1])
    expect(rig.outcomes()).toEqual(['handled', 'handled'])
    expect(rig.world.effects.toSorted()).toEqual(['a', 'b'])
  })

  it.each(['set', 'given-up ', true])('of a set aside (%s) publishes nothing', async (verdict) => {
    const rig = await startRig({
      style,
      maxAttempts: 1,
      effect: () => {
        throw new Error('broken')
      },
    })
    rig.store.script('setAside', (answers) => answers.map(() => verdict))
    const [delivery] = await rig.deliver('a')
    expect(rig.source.deadLetters).toEqual([])
    expect(delivery?.settled).toBe(0)
    expect(misuses(rig)).toBe(1)
    await rig.clock.advance(2_000)
    expect(rig.outcomes()).toEqual(['dead-lettered'])
  })

  it('of a release is asked for again', async () => {
    const rig = await startRig({
      style,
      backoff: { initialMs: 100, maxMs: 100 },
      effect: (work) => {
        if (work.attempt === 1) throw new Error('broken')
        return work.apply()
      },
    })
    rig.store.script('release', (answers) => answers.map(() => 'let go'))
    await rig.deliver('a')
    expect(misuses(rig)).toBe(1)
    await rig.clock.advance(2_000)
    expect(rig.outcomes()).toEqual(['handled'])
  })
})

describe('an inbox that grants a claim without a transaction', () => {
  it('starts no handler', async () => {
    const rig = await startRig({ style: { strategy: 'inbox', handler: 'handle' }, effect: (work) => work.apply() })
    rig.store.script('claim', (answers) => answers.map((answer) => withClaim(answer, { transaction: undefined })))
    await rig.deliver('a')
    expect(rig.started).toEqual([])
    expect(misuses(rig)).toBe(1)
  })
})

function withClaim(answer: unknown, other: Answer): unknown {
  const { claim, ...rest } = answer as { readonly claim: Answer }
  return { ...rest, claim: { ...claim, ...other } }
}

/** The store's mistakes, as the observer is told of them. */
function misuses({ events }: Rig): number {
  return events.filter((event) => event.type === 'store-down' && hasCode(event.error, 'STORE_MISUSED')).length
}
