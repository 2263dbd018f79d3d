import type { ScriptCall } from './redis-port.ts'
import type { PipelineLike, IoredisLike, ScriptsLike } from './ioredis-like.ts'

type Answer = readonly [error: Error | null, reply: unknown]

interface Waiting {
  readonly call: ScriptCall
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Sends all calls of one turn in one write, in their order, such as marks and the claims behind them. The system call
 * of a write costs more than everything else that a client does for a script.
 */
export class OneWrite {
  readonly #redis: IoredisLike
  #waiting: Waiting[] = []

  constructor(redis: IoredisLike) {
    this.#redis = redis
  }

  run(call: ScriptCall): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ call, resolve, reject }) === 1) queueMicrotask(() => void this.#write())
    })
  }

  async #write(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    try {
      const answers = await this.#answersTo(waiting.map(({ call }) => call))
      for (const [at, { resolve, reject }] of waiting.entries()) {
        const [error, reply] = answers[at] ?? [new Error('Connection is closed.'), undefined]
        if (error === null) resolve(reply)
        else reject(error)
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }

  async #answersTo(calls: readonly ScriptCall[]): Promise<readonly Answer[]> {
    const [first, second] = calls
    if (first !== undefined && second === undefined) return [[null, await runAlone(this.#redis, first)]]
    const pipeline = this.#redis.pipeline()
    for (const call of calls) addTo(pipeline, call)
    return (await pipeline.exec()) ?? []
  }
}

export function runAlone(redis: ScriptsLike, { by, script, keys, words }: ScriptCall): Promise<unknown> {
  return by === 'sha' ? redis.evalsha(script, keys, ...words) : redis.eval(script, keys, ...words)
}

export function addTo(pipeline: PipelineLike, { by, script, keys, words }: ScriptCall): void {
  if (by === 'sha') pipeline.evalsha(script, keys, ...words)
  else pipeline.eval(script, keys, ...words)
}
