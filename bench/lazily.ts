import type { Contender } from './suite.ts'

/**
 * Contenders of a module that is loaded where one of them runs, so that a process holds the clients of its own contender and no
 * others: `const raw = lazily(() => import('../contenders/kafkajs.ts'))`, then `run: raw(({ eachMessage }) => eachMessage(noop))`.
 */
export function lazily<M>(load: () => Promise<M>): (contenderOf: (module: M) => Contender['run']) => Contender['run'] {
  return (contenderOf) => async (job) => contenderOf(await load())(job)
}
