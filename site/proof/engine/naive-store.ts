import type { SimProcess } from '../../../testing/sim/process.ts'
import { subjectOf } from '../../../testing/sim/sim-broker.ts'
import type { WorkerParts } from '../../../testing/sim/worker.ts'

const ASK_AGAIN_MS = 100

/** Commands of a Redis, as one client sends them: it asks again until there is an answer. */
export class NaiveStore {
  readonly #keys: Set<string>
  readonly #process: SimProcess
  readonly #parts: Pick<WorkerParts, 'stage' | 'broker'>

  constructor(keys: Set<string>, process: SimProcess, parts: Pick<WorkerParts, 'stage' | 'broker'>) {
    this.#keys = keys
    this.#process = process
    this.#parts = parts
  }

  /** `SET key 1 NX`. `false`: the key exists. */
  setnx(key: string): Promise<boolean> {
    return this.#ask(() => {
      const isNew = !this.#keys.has(key)
      this.#keys.add(key)
      this.#tell(isNew ? 'key-set' : 'key-known', key)
      return isNew
    })
  }

  del(key: string): Promise<boolean> {
    return this.#ask(() => {
      this.#tell('key-removed', key)
      return this.#keys.delete(key)
    })
  }

  /** For people who watch: the checker judges a consumer by its broker and its effects. */
  #tell(what: string, key: string): void {
    const { stage, broker } = this.#parts
    stage.record(this.#process.name, { f: 'tell', what, subject: subjectOf(broker.group, key) })
  }

  #ask(command: () => boolean): Promise<boolean> {
    const { stage } = this.#parts
    const { faults } = stage
    return new Promise((resolve) => {
      const askAgain = (): void => void this.#process.after(ASK_AGAIN_MS, ask)
      const answerWith = (answer: boolean): void => {
        this.#process.after(faults.latencyMs(), () =>
          stage.step(this.#process, 'after the reply of the store', () => resolve(answer)),
        )
      }
      const ask = (): void => {
        if (faults.happens('requestLost')) return askAgain()
        stage.travel(() => {
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
