import { hash, randomBytes } from 'node:crypto'
import type { Store } from 'consume-once'
import type { TransactionAnswer, ClaimItem, ClaimRequest, TransactionClaim } from 'consume-once/spi'

/** Key and payload digest of messages, as the pipeline would make them: before the time is taken. */
export function itemsOf(name: string, count: number): readonly ClaimItem[] {
  return Array.from({ length: count }, (_, n) => ({ key: digest(`${name} ${n}`), digest: digest(`payload ${n}`) }))
}

export function inBatches<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  const batches: (readonly T[])[] = []
  for (let at = 0; at < all.length; at += size) batches.push(all.slice(at, at + size))
  return batches
}

/** All batches, several at a time. */
export async function atOnce<T>(
  batches: readonly T[],
  width: number,
  run: (batch: T, lane: number) => Promise<void>,
): Promise<void> {
  let next = 0
  const lane = async (_: unknown, number: number): Promise<void> => {
    for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) await run(batch, number)
  }
  await Promise.all(Array.from({ length: width }, lane))
}

export function claimItems<Tx>(
  store: Store<Tx>,
  items: readonly ClaimItem[],
  scope: string,
): Promise<readonly TransactionAnswer<Tx>[]> {
  const request: ClaimRequest = {
    scope,
    token: newToken(),
    leaseMs: 30_000,
    retentionMs: 600_000,
    alone: false,
    items,
  }
  return store.claim(request) as Promise<readonly TransactionAnswer<Tx>[]>
}

export function claimsIn<Tx>(answers: readonly TransactionAnswer<Tx>[]): readonly TransactionClaim<Tx>[] {
  return answers.map((answer) => {
    if (answer.verdict === 'claimed') return answer.claim
    throw new Error(`expected a claim, got ${answer.verdict}`)
  })
}

export function expectAll(verdicts: readonly string[], expected: string): void {
  const other = verdicts.find((verdict) => verdict !== expected)
  if (other !== undefined) throw new Error(`expected ${expected}, got ${other}`)
}

export function newToken(): string {
  return randomBytes(9).toString('base64url')
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22)
}
