import { expect } from '@jest/globals'
import { hasCode, type Store } from '../../src/index.ts'
import { type TransactionClaim, type TransactionAnswer, type ClaimItem } from '../../src/internal.ts'
import { claim, hold, newItem, newToken } from '../../testing/contract/store/claims.ts'
import type { Fault, FaultProxy } from '../../test/kit/fault-proxy.ts'
import { ALONE, NO_REFUND, REFUND, holdNew } from '../../testing/contract/store/given.ts'

/** An inbox whose connections go over a link, and another on the same data whose do not. */
export interface InboxOnLink<Tx> {
  readonly link: FaultProxy
  readonly inbox: Store<Tx>
  readonly rival: Store<Tx>
  readonly write: (tx: Tx, effect: string) => Promise<unknown>
  readonly committed: (effect: string) => Promise<number>
}

const WITHIN_MS = 15_000

/** Makes a call whose `nth` request meets a fault, until it is answered. */
type Meet = <T>(call: () => Promise<T>) => Promise<T>

type Scene = <Tx>(on: InboxOnLink<Tx>, meet: Meet) => Promise<void>

/** Whatever is lost, attempts count once, and effect and mark are one. */
const SCENES: Readonly<Record<string, Scene>> = {
  async 'claims once'({ inbox, rival }, meet) {
    const [item, how] = [newItem(), { ...ALONE, token: newToken() }]
    const granted = await meet(() => claim(inbox, item, how))
    expect(granted).toMatchObject({ verdict: 'claimed', attempt: 1 })
    await release(inbox, granted, NO_REFUND)
    const next = await untilGranted(rival, item)
    expect(next.attempt).toBe(2)
    await release(rival, next, NO_REFUND)
  },

  async 'marks with the effect, or neither'({ inbox, rival, write, committed }, meet) {
    const { item, claim: claimed } = await holdNew(inbox)
    await writeFor(claimed, write)
    const [verdict] = await meet(() => inbox.mark([claimed]))
    const isMarked = verdict === 'marked' || verdict === 'already-marked'
    expect([verdict, await committed(item.key)]).toEqual(isMarked ? [verdict, 1] : ['refused-busy', 0])
    const answer = await untilAnswered(() => claim(rival, item, ALONE))
    expect(answer).toMatchObject(isMarked ? { verdict: 'done' } : { verdict: 'claimed', attempt: 1 })
    await release(rival, answer, NO_REFUND)
  },

  async 'gives an attempt back once'({ inbox, rival }, meet) {
    const item = newItem()
    for (const _ of [1, 2]) await release(rival, await hold(rival, item, ALONE), NO_REFUND)
    const { claim: claimed } = await hold(inbox, item, ALONE)
    expect(await meet(() => inbox.release([claimed], REFUND))).toEqual([expect.stringMatching(/released$/)])
    const next = await untilGranted(rival, item)
    expect(next.attempt).toBe(3)
    await release(rival, next, NO_REFUND)
  },

  async 'rolls back what it releases'({ inbox, rival, write, committed }, meet) {
    const { item, claim: claimed } = await holdNew(inbox)
    await writeFor(claimed, write)
    await meet(() => inbox.release([claimed], NO_REFUND))
    await release(rival, await untilGranted(rival, item), NO_REFUND)
    expect(await committed(item.key)).toBe(0)
  },

  async 'sets aside once'({ inbox, rival, write, committed }, meet) {
    const { item, claim: claimed } = await holdNew(inbox)
    await writeFor(claimed, write)
    expect(await meet(() => inbox.setAside([claimed], 'parked', { reason: 'why' }))).toEqual(['parked'])
    expect(await committed(item.key)).toBe(0)
    expect(await claim(rival, item, ALONE)).toMatchObject({ verdict: 'parked', reason: 'why' })
  },
}

const FAULTS: readonly Fault[] = ['cut before', 'cut after', 'swallowed']

/** Each call meets each fault, in each of its requests in turn. */
export const LOST_ANSWERS: readonly (readonly [string, Fault, Scene])[] = Object.entries(SCENES).flatMap(
  ([name, scene]) => FAULTS.map((fault) => [name, fault, scene] as const),
)

/** Plays a scene until the call in it has no further request to lose. */
export async function losingEach<Tx>(on: InboxOnLink<Tx>, fault: Fault, scene: Scene): Promise<void> {
  const { link, inbox } = on
  for (let nth = 0; ; nth++) {
    // As many connections as it may want, so that its requests are those of the call.
    const ready = await untilGranted(inbox, newItem())
    await inbox.mark([ready.claim])
    const before = link.faults
    await scene(on, async (call) => {
      link.breakNext(fault, nth)
      const answer = await untilAnswered(call)
      link.breakNext(fault, Number.POSITIVE_INFINITY)
      return answer
    })
    if (link.faults > before) continue
    expect(nth).toBeGreaterThan(0)
    return
  }
}

/** Asks as the pipeline does: the same again, until there is an answer. */
async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + WITHIN_MS
  for (;;) {
    try {
      const answer = await call()
      if (!isBusy(answer)) return answer
      if (performance.now() > deadline) throw new Error('expected the key to be free by now')
    } catch (error) {
      const isUnknown = hasCode(error, 'STORE_AMBIGUOUS') || hasCode(error, 'STORE_UNREACHABLE')
      if (!isUnknown || performance.now() > deadline) throw error
    }
  }
}

/** A server notices a lost connection in its own time, and holds the key until then. */
function isBusy(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'verdict' in answer && answer.verdict === 'busy'
}

async function untilGranted<Tx>(store: Store<Tx>, item: ClaimItem): Promise<Granted<Tx>> {
  const answer = await untilAnswered(() => claim(store, item, ALONE))
  if (!('claim' in answer)) throw new Error(`expected a claim that is granted, got ${answer.verdict}`)
  return answer
}

type Granted<Tx> = Extract<TransactionAnswer<Tx>, { claim: unknown }>

async function release<Tx>(store: Store<Tx>, granted: TransactionAnswer<Tx>, how: typeof REFUND): Promise<void> {
  if ('claim' in granted) await untilAnswered(() => store.release([granted.claim], how))
}

async function writeFor<Tx>(claimed: TransactionClaim<Tx>, write: InboxOnLink<Tx>['write']): Promise<void> {
  const lent = claimed.transaction?.lend()
  if (lent !== undefined) await write(lent.tx, claimed.key)
  expect(lent?.revoke()).toBe(0)
}
