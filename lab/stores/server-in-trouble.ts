import { expect, it } from '@jest/globals'
import type { Store } from '../../src/index.ts'
import { claim, hold, newItem } from '../../testing/contract/store/claims.ts'
import { ALONE, holdNew, lend } from '../../testing/contract/store/given.ts'
import { codeOf } from '../../test/kit/code-of.ts'
import { untilResolved } from '../../test/kit/eventually.ts'
import type { PrivateInstance } from '../../test/kit/servers/private-instance.ts'

interface Impatient {
  readonly lockTimeoutMs: number
  readonly queryTimeoutMs: number
}

/** A database server of its own, and a place on it for one test. */
export interface ServerInTrouble<Tx> {
  readonly server: PrivateInstance
  readonly newInbox: (options?: Impatient) => Promise<Store<Tx>>
  readonly newLease: (options: Impatient) => Promise<Store>
  readonly write: (tx: Tx, effect: string) => Promise<unknown>
  readonly committed: (effect: string) => Promise<number>
}

interface Terms {
  readonly impatient: Impatient
  /** Shorter than the server is frozen. */
  readonly leaseMs: number
  /** How often a start may be counted that a crash has ended. */
  readonly attempts: readonly number[]
  /** The mark that froze in its COMMIT: it is there, or it may be. */
  readonly frozenMark: RegExp
}

export function itSurvivesItsServer<Tx>(now: () => ServerInTrouble<Tx>, terms: Terms): void {
  const { impatient, leaseMs, attempts, frozenMark } = terms

  it('keeps what an inbox has marked over a crash, and rolls back the rest', async () => {
    const { server, newInbox, write, committed } = now()
    const inbox = await newInbox()
    const { item: marked, claim: ofMarked } = await holdNew(inbox)
    await write(lend(ofMarked).tx, marked.key)
    await inbox.mark([ofMarked])
    const { item: open, claim: ofOpen } = await holdNew(inbox)
    await write(lend(ofOpen).tx, open.key)
    await server.kill()
    // Once its connection is known to be lost, the COMMIT is not even sent.
    while ((await inbox.renew([ofOpen], 1))[0] !== 'lost') await new Promise(setImmediate)
    expect(await codeOf(inbox.mark([ofOpen]))).toMatch(/^STORE_/)
    await server.restart()
    expect(await untilResolved(() => inbox.mark([ofOpen]))).toEqual(['refused-busy'])
    expect(await untilResolved(() => claim(inbox, marked))).toMatchObject({ verdict: 'done' })
    expect(await untilResolved(() => committed(marked.key))).toBe(1)
    expect(await committed(open.key)).toBe(0)
    const again = await hold(inbox, open, ALONE)
    expect(attempts).toContain(again.attempt)
    expect(await inbox.mark([again.claim])).toEqual(['marked'])
  }, 60_000)

  it('does not answer for longer than a lease: a mark is unknown, and is kept afterwards [T32]', async () => {
    const { server, newLease } = now()
    const lease = await newLease(impatient)
    const { item, claim: claimed } = await holdNew(lease, { leaseMs })
    await whileFrozen(server, async () => {
      expect(await codeOf(lease.mark([claimed]))).toMatch(/^STORE_/)
    })
    expect(await untilResolved(() => lease.mark([claimed]))).toEqual([expect.stringMatching(/^(already-)?marked$/)])
    expect(await claim(lease, item, ALONE)).toMatchObject({ verdict: 'done' })
  }, 60_000)

  it('answers an inbox nothing: what is open is unknown until it does', async () => {
    const { server, newInbox, write, committed } = now()
    const inbox = await newInbox(impatient)
    const { item: open, claim: claimed } = await holdNew(inbox)
    const fresh = newItem()
    await write(lend(claimed).tx, open.key)
    await whileFrozen(server, async () => {
      expect(await codeOf(claim(inbox, fresh))).toMatch(/^STORE_/)
      expect(await codeOf(inbox.mark([claimed]))).toBe('STORE_AMBIGUOUS')
      expect(await codeOf(inbox.mark([claimed]))).toMatch(/^STORE_/)
    })
    const [verdict] = await untilResolved(() => inbox.mark([claimed]))
    expect(verdict).toMatch(frozenMark)
    expect(await committed(open.key)).toBe(verdict === 'already-marked' ? 1 : 0)
    const granted = await untilResolved(() => hold(inbox, fresh, ALONE))
    expect(await inbox.mark([granted.claim])).toEqual(['marked'])
  }, 60_000)

  async function whileFrozen(server: PrivateInstance, work: () => Promise<void>): Promise<void> {
    server.freeze()
    try {
      const begun = performance.now()
      await work()
      expect(performance.now() - begun).toBeLessThan(10 * impatient.queryTimeoutMs)
    } finally {
      server.thaw()
    }
  }
}
