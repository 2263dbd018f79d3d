import { setTimeout as wait } from 'node:timers/promises'

/** Polls a condition: brokers do not signal that a queue is empty. */
export async function until(condition: () => Promise<boolean>, everyMs: number = 50): Promise<void> {
  while (!(await condition())) await wait(everyMs)
}
