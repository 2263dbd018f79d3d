import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from '../expect.ts'
import type { StoredPosition } from '../../../src/core/position.ts'
import type { ClaimItem, Positions, Store, TransactionAnswer } from '../../../src/ports/store.ts'
import { claimAll, grantedBy, newItem, newName, SCOPE, type Granted, type HowToClaim } from './claims.ts'
import { REFUND } from './given.ts'
import type { OffsetsHarness } from './harness.ts'

/** Messages of a stream, each right after the previous one. */
export function messages(stream: string, offsets: readonly bigint[], follows?: bigint): readonly ClaimItem[] {
  return offsets.map((offset, index) => {
    const before = offsets[index - 1]
    const position = { stream, offset, follows: before === undefined ? follows : before + 1n }
    return { ...newItem({ key: newName(), digest: '' }), position }
  })
}

export async function verdicts(
  store: Store<unknown>,
  items: readonly ClaimItem[],
  how: HowToClaim = {},
): Promise<readonly string[]> {
  return (await claimAll(store, items, how)).map(({ verdict }) => verdict)
}

/** How many are granted; they are released again. */
export async function grantedIn(store: Store<unknown>, items: readonly ClaimItem[], how: HowToClaim): Promise<number> {
  const claims = (await claimAll(store, items, how)).flatMap((answer) => ('claim' in answer ? [answer.claim] : []))
  await store.release(claims, REFUND)
  return claims.length
}

export async function holdAll(
  store: Store<unknown>,
  items: readonly ClaimItem[],
  how: HowToClaim = {},
): Promise<readonly Granted['claim'][]> {
  return (await claimAll(store, items, how)).map((answer) => grantedBy(answer).claim)
}

/** A new stream of which these are marked. */
export async function streamBehind(store: Store<unknown>, ...offsets: readonly bigint[]): Promise<string> {
  const stream = newName()
  await store.mark(await holdAll(store, messages(stream, offsets)))
  return stream
}

/** As a handler does. */
export async function writeIn(
  harness: OffsetsHarness,
  claimed: Granted['claim'] | undefined,
  effect: string,
): Promise<void> {
  const lent = claimed?.transaction?.lend()
  if (lent !== undefined) await harness.write(lent.tx, effect)
  expect(lent?.revoke()).toBe(0)
}

export function positionsOf(store: Store<unknown>): Positions {
  if (store.strategy !== 'offsets') throw new Error('expected a store with positions')
  return store.positions
}

export async function next(store: Store<unknown>, stream: string): Promise<bigint | undefined> {
  return (await stored(store, stream))?.next
}

export async function stored(store: Store<unknown>, stream: string): Promise<StoredPosition | undefined> {
  return (await positionsOf(store).next(SCOPE, [stream])).get(stream)
}

export function timed(items: readonly ClaimItem[], timestamps: readonly (number | undefined)[]): readonly ClaimItem[] {
  return items.map((item, index) => {
    const { position } = item
    return position === undefined ? item : { ...item, position: { ...position, timestamp: timestamps[index] } }
  })
}

export function one(items: readonly ClaimItem[]): ClaimItem {
  const [item] = items
  if (item === undefined) throw new Error('expected a message')
  return item
}

/** Reads the whole stream in batches, as a member does: items that were not granted are claimed again, alone. */
export async function consume(
  harness: OffsetsHarness,
  store: Store<unknown>,
  items: readonly ClaimItem[],
  batchSize: number,
): Promise<void> {
  let alone = false
  let waiting = items
  let idle = 0
  while (waiting.length > 0) {
    if (idle > 300) throw new Error(`expected every message to be granted, got stuck with ${waiting.length} to go`)
    const wanted: readonly ClaimItem[] = waiting.slice(0, alone ? 1 : batchSize)
    const answers: readonly TransactionAnswer<unknown>[] = await claimAll(store, wanted, { alone })
    const granted = answers.flatMap((answer) => ('claim' in answer ? [answer.claim] : []))
    for (const claimed of granted) {
      const position = waiting.find(({ key }) => key === claimed.key)?.position
      await writeIn(harness, claimed, `${position?.stream}@${position?.offset}`)
    }
    if (granted.length > 0) expect(await store.mark(granted)).toEqual(granted.map(() => 'marked'))
    const over = answers.filter(({ verdict }) => verdict === 'claimed' || verdict === 'done').length
    waiting = waiting.slice(over)
    alone = over === 0
    idle = alone ? idle + 1 : 0
    if (alone) await sleep(5)
  }
}
