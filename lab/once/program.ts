// Calls once() in a process of its own, which kills itself where it is told to.
import { appendFileSync, writeSync } from 'node:fs'
import { once, type OnceOptions, type Store } from '../../src/index.ts'
import type { InboxStore } from '../../src/spi.ts'
import { withCalls } from '../../test/kit/store-with.ts'
import type { WorkerTransaction } from '../kit/worker/module.ts'
import type { StoreSpec } from '../kit/worker/spec.ts'
import { storeOf } from '../kit/worker/stores.ts'

export type DieAt = 'before the claim is answered' | 'in the function' | 'before the mark' | 'after the mark' | 'never'

export interface OnceSpec {
  readonly store: StoreSpec
  readonly key: string
  readonly dieAt: DieAt
  readonly onInDoubt?: 'rerun' | 'park'
  /** Effects of a lease: one line each. */
  readonly file: string
}

const spec = JSON.parse(process.argv[2] ?? '') as OnceSpec

async function dieAt(point: DieAt): Promise<void> {
  if (spec.dieAt !== point) return
  process.kill(process.pid, 'SIGKILL')
  await new Promise(() => {})
}

function mortal(store: Store<WorkerTransaction>): InboxStore<WorkerTransaction> {
  return withCalls(store, {
    claim: async (request) => {
      const answers = await store.claim(request)
      await dieAt('before the claim is answered')
      return answers
    },
    mark: async (claims, results) => {
      await dieAt('before the mark')
      const verdicts = await store.mark(claims, results)
      await dieAt('after the mark')
      return verdicts
    },
  }) as InboxStore<WorkerTransaction>
}

async function main(): Promise<void> {
  const { key, file, onInDoubt } = spec
  const options: OnceOptions<string> = { leaseMs: 1_500, waitMs: 20_000, ...(onInDoubt && { onInDoubt }) }
  const store = mortal(await storeOf(spec.store, 'once'))
  const work = async ({ tx }: { readonly tx?: WorkerTransaction }): Promise<string> => {
    if (spec.store.strategy === 'inbox') await tx?.query('insert into effect (name) values ($1)', [key])
    else appendFileSync(file, `${key}\n`)
    await dieAt('in the function')
    return 'ok'
  }
  const answer = await once(store, key, work, options).catch((error: { readonly code?: string }) => ({
    code: error.code,
  }))
  writeSync(1, JSON.stringify(answer))
  process.exit(0)
}

void main()
