import type { SimProcess } from '../../../testing/sim/process.ts'
import type { Stage } from '../../../testing/sim/stage.ts'

const ASK_AGAIN_MS = 100

/** Commands of a Redis, as one client sends them: it asks again until there is an answer. */
export class NaiveStore {
  readonly #keys: Set<string>
  readonly #process: SimProcess
  readonly #stage: Stage

  constructor(keys: Set<string>, process: SimProcess, stage: Stage) {
    this.#keys = keys
    this.#process = process
    this.#stage = stage
  }

  /** `SET key 1 NX`. `false`: the key exists. */
  setnx(key: string): Promise<boolean> {
    return this.#ask(() => {
      const isNew = !this.#keys.has(key)
      this.#keys.add(key)
      return isNew
    })
  }

  del(key: string): Promise<boolean> {
    return this.#ask(() => this.#keys.delete(key))
  }

  #ask(command: () => boolean): Promise<boolean> {
    const { faults } = this.#stage
    return new Promise((resolve) => {
      const askAgain = (): void => void this.#process.after(ASK_AGAIN_MS, ask)
      const answerWith = (answer: boolean): void => {
        this.#process.after(faults.latencyMs(), () =>
          this.#stage.step(this.#process, 'after the reply of the store', () => resolve(answer)),
        )
      }
      const ask = (): void => {
        if (faults.happens('requestLost')) return askAgain()
        this.#stage.travel(() => {
          if (faults.isStoreDown) return askAgain()
          const answer = command()
          if (faults.happens('replyLost')) askAgain()
          else answerWith(answer)
        })
      }
      ask()
    })
  }
}
