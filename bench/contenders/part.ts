import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

const VARIABLE = 'BENCH_PART'

/** Part of a further process of the same contender; `undefined` in the process that the bench started. */
export function partGiven(): unknown {
  const given = process.env[VARIABLE]
  return given === undefined ? undefined : JSON.parse(given)
}

/** Starts a further process of the same contender with the same job, which does the given part. Its stdout is ignored. */
export function startPart(part: unknown): ChildProcess {
  const [, child = '', ...order] = process.argv
  return fork(child, order, {
    execArgv: ['--expose-gc'],
    env: { ...process.env, [VARIABLE]: JSON.stringify(part) },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
}

/** In the further process: until the first one says so, or is gone. */
export async function untilTold(): Promise<void> {
  await Promise.race([once(process, 'message'), once(process, 'disconnect')])
}
