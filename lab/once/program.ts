// Calls once() in a separate process, which kills itself at a given point.
import { writeSync } from 'node:fs'
import { once, type OnceOptions } from '../../src/index.ts'
import type { WorkerTransaction } from '../kit/worker/module.ts'
import { storeOf } from '../kit/worker/stores.ts'
import { Mortal, type MortalSpec } from './mortal.ts'

async function main(): Promise<void> {
  const spec = JSON.parse(process.argv[2] ?? '') as MortalSpec
  const mortal = new Mortal(spec)
  const { key, onInDoubt } = spec
  const options: OnceOptions<string> = { leaseMs: 1_500, waitMs: 20_000, ...(onInDoubt && { onInDoubt }) }
  const store = mortal.store(await storeOf(spec.store, 'once'))
  const work = async ({ tx }: { readonly tx?: WorkerTransaction }): Promise<string> => {
    await mortal.effect(tx)
    return 'ok'
  }
  const answer = await once(store, key, work, options).catch((error: { readonly code?: string }) => ({
    code: error.code,
  }))
  writeSync(1, JSON.stringify(answer))
  process.exit(0)
}

void main()
