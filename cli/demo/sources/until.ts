import { setTimeout as wait } from 'node:timers/promises'

/** Asks a server again and again: brokers do not tell when a queue is empty. */
export async function until(condition: () => Promise<boolean>, everyMs: number = 50): Promise<void> {
  while (!(await condition())) await wait(everyMs)
}
