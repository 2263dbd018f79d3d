import { setTimeout as sleep } from 'node:timers/promises'

/** Looks again and again, for what only a server knows. Rejects when it is not so within 60 s. */
export async function eventually(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`not within 60 s: ${what}`)
    await sleep(50)
  }
}
