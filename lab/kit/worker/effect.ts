// How the programs of a laboratory have their effects, and how they die.
import { appendFileSync } from 'node:fs'
import type { WorkerTransaction } from './module.ts'
import type { StoreSpec } from './spec.ts'

export interface EffectsPlace {
  readonly store: StoreSpec
  /** Effects of a lease: one line each. Those of an inbox are rows of its table `effect`. */
  readonly file: string
}

export async function haveEffect(
  { store, file }: EffectsPlace,
  effect: string,
  tx: WorkerTransaction | undefined,
): Promise<void> {
  if (store.strategy === 'lease') appendFileSync(file, `${effect}\n`)
  else await insertEffect(store, effect, tx)
}

export async function insertEffect(
  { on }: StoreSpec,
  effect: string,
  tx: WorkerTransaction | undefined,
): Promise<void> {
  await tx?.query(`insert into effect (name) values (${on === 'mariadb' ? '?' : '$1'})`, [effect])
}

/** By SIGKILL. Nothing after it happens. */
export function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
}
