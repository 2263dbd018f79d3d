import { describeError } from '../../../src/index.ts'
import { createMissing, existingOf } from '../copies/topics.ts'
import type { AdminDesk } from '../offsets/admin-desk.ts'
import type { ResolvedKafka } from '../options/options.ts'
import { isTransient } from '../protocol-error.ts'
import type { Report } from '../report.ts'
import type { AdminLike } from '../slice.ts'

interface SubscriptionParts {
  readonly desk: AdminDesk
  readonly options: ResolvedKafka
  readonly report: Report
  /** Other topics are there than the group was joined with. */
  readonly changed: (detail: string) => void
}

const LOOK_AGAIN_MS = 5_000

/**
 * Which of the group's topics are there. kafkajs subscribes to all topics or to none, and one that is deleted stops its consumer
 * for all of them. So the group is joined with those that are there, and joined again when that changes. A retry topic belongs
 * to the group: with `assert: true` it is created again.
 */
export class Subscription {
  readonly #parts: SubscriptionParts
  #present: readonly string[]
  #missing: readonly string[] = []
  #isLooking = false
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(parts: SubscriptionParts) {
    this.#parts = parts
    this.#present = parts.options.topics
  }

  /** With which the group was joined last. */
  get present(): readonly string[] {
    return this.#present
  }

  /** For people, if a topic is missing. */
  get problem(): string | undefined {
    return this.#missing.length === 0 ? undefined : missingText(this.#missing)
  }

  /** What to join the group with. Rejects where the broker does not tell, or no topic is there. */
  async topics(): Promise<readonly string[]> {
    const present = await this.#look()
    if (present.length === 0) throw new Error(missingText(this.#missing))
    this.#present = present
    return present
  }

  /** A fetch has failed: a topic may be gone. One look at a time. */
  suspect(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    void this.#compare().finally(() => (this.#isLooking = false))
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  async #compare(): Promise<void> {
    try {
      const present = await this.#look()
      const joined = this.#present
      if (this.#isClosed || String(present) === String(joined)) return
      const back = present.filter((topic) => !joined.includes(topic))
      this.#parts.changed(back.length === 0 ? missingText(this.#missing) : `${back.join(', ')}: there again`)
    } catch {
      // The broker does not tell. kafkajs goes on trying, and so does the timer.
    }
  }

  async #look(): Promise<readonly string[]> {
    const { desk, options } = this.#parts
    // Else the broker makes them when they are subscribed to.
    if (options.consumer.allowAutoTopicCreation === true) return options.topics
    try {
      const existing = await desk.ask((admin) => this.#existing(admin))
      this.#tell(options.topics.filter((topic) => !existing.has(topic)))
      return options.topics.filter((topic) => existing.has(topic))
    } catch (error) {
      // kafkajs lists no topics while one of the cluster, whosever it is, has a partition without a leader.
      if (!isTransient(error)) throw error
      return options.topics.filter((topic) => !this.#missing.includes(topic))
    } finally {
      this.#lookLater()
    }
  }

  /** While a topic is missing, and until the group is joined with those that are there: a join may be under way. */
  #lookLater(): void {
    const { topics, consumer } = this.#parts.options
    clearTimeout(this.#timer)
    if (this.#isClosed || (this.#missing.length === 0 && this.#present.length === topics.length)) return
    const everyMs = Math.min(LOOK_AGAIN_MS, consumer.metadataMaxAge ?? LOOK_AGAIN_MS)
    this.#timer = setTimeout(() => this.suspect(), everyMs)
  }

  async #existing(admin: AdminLike): Promise<ReadonlySet<string>> {
    const { options, report } = this.#parts
    const existing = new Set(await existingOf(admin, options.topics))
    if (options.assert !== true) return existing
    for (const place of options.topology.places) {
      const sources = place.sources.filter((topic) => existing.has(topic))
      if (place.kind !== 'retry' || existing.has(place.topic) || sources.length === 0) continue
      try {
        await createMissing(admin, { ...place, sources })
        existing.add(place.topic)
        report('retry-topic', `${place.topic} was created again`)
      } catch (error) {
        // Its deletion may still be under way.
        report('adapter-error', `${place.topic} could not be created again: ${describeError(error)}`)
      }
    }
    return existing
  }

  #tell(missing: readonly string[]): void {
    const { report } = this.#parts
    const gone = missing.filter((topic) => !this.#missing.includes(topic))
    const back = this.#missing.filter((topic) => !missing.includes(topic))
    this.#missing = missing
    if (gone.length > 0) report('topic-missing', missingText(gone))
    if (back.length > 0) report('topic-back', back.join(', '))
  }
}

function missingText(topics: readonly string[]): string {
  const [be, it] = topics.length === 1 ? ['does', 'it'] : ['do', 'they']
  return `${topics.join(', ')} ${be} not exist: deleted, or misspelt? Nothing of ${it === 'it' ? it : 'them'} is consumed until ${it} ${it === 'it' ? 'is' : 'are'} there again; the other topics go on`
}
