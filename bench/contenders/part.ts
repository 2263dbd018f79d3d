import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

const VARIABLE = 'BENCH_PART'

/** What a further process of the same contender is to do; `undefined` in the process that the bench has started. */
export function partGiven(): unknown {
  const given = process.env[VARIABLE]
  return given === undefined ? undefined : JSON.parse(given)
}

/** The same contender with the same job in a further process, which does the part that it is given. Its stdout is nobody's. */
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
