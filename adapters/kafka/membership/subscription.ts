import { describeError } from '../../../src/internal.ts'
import { createMissing, existingOf } from '../copies/topics.ts'
import type { AdminClient } from '../admin-client.ts'
import type { ResolvedKafka } from '../options/resolve.ts'
import { isTransient } from '../protocol-error.ts'
import type { Report } from '../report.ts'
import type { Admin } from '../client.ts'

interface SubscriptionParts {
  readonly adminClient: AdminClient
  readonly options: ResolvedKafka
  readonly report: Report
  /** The existing topics differ from those with which the group was joined. */
  readonly changed: (detail: string) => void
}

const LOOK_AGAIN_MS = 5_000

/**
 * Tracks which of the group's topics exist. kafkajs subscribes to all topics or to none, and a deleted topic stops its
 * consumer for all of them. So the group is joined with the existing topics, and rejoined when they change. A retry
 * topic belongs to the group: with `setup: 'auto'` it is created again.
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
    this.#present = parts.options.topology.subscribed
  }

  /** The topics with which the group was last joined. */
  get present(): readonly string[] {
    return this.#present
  }

  /** A text for people, if a topic is missing. */
  get problem(): string | undefined {
    return this.#missing.length === 0 ? undefined : missingText(this.#missing)
  }

  /**
   * The topics to join with. Rejects if the broker does not answer, or if no topic exists.
   *
   * @param existing - those of the cluster, if they have just been listed
   */
  async topics(existing?: ReadonlySet<string>): Promise<readonly string[]> {
    const present = await this.#look(existing)
    if (present.length === 0) throw new Error(missingText(this.#missing))
    this.#present = present
    return present
  }

  /** A fetch has failed, so a topic may be gone. One check at a time. */
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
      // The broker did not answer. kafkajs keeps trying, and so does the timer.
    }
  }

  async #look(listed?: ReadonlySet<string>): Promise<readonly string[]> {
    const { adminClient, options } = this.#parts
    const all = options.topology.subscribed
    // With automatic creation the broker creates them on subscribe.
    if (options.consumerConfig.allowAutoTopicCreation === true) return all
    try {
      const existing = listed ?? (await adminClient.ask((admin) => this.#existing(admin)))
      this.#tell(all.filter((topic) => !existing.has(topic)))
      return all.filter((topic) => existing.has(topic))
    } catch (error) {
      // kafkajs cannot list topics while any topic of the cluster has a partition without a leader.
      if (!isTransient(error)) throw error
      return all.filter((topic) => !this.#missing.includes(topic))
    } finally {
      this.#lookLater()
    }
  }

  /**
   * Checks again while a topic is missing, and until the group is joined with the existing ones: a join may be in
   * progress.
   */
  #lookLater(): void {
    const { topology, consumerConfig } = this.#parts.options
    clearTimeout(this.#timer)
    if (this.#isClosed || (this.#missing.length === 0 && this.#present.length === topology.subscribed.length)) return
    const everyMs = Math.min(LOOK_AGAIN_MS, consumerConfig.metadataMaxAge ?? LOOK_AGAIN_MS)
    this.#timer = setTimeout(() => this.suspect(), everyMs)
  }

  async #existing(admin: Admin): Promise<ReadonlySet<string>> {
    const { options, report } = this.#parts
    const existing = new Set(await existingOf(admin, options.topology.subscribed))
    if (options.setup !== 'auto') return existing
    for (const place of options.topology.places) {
      const sources = place.sources.filter((topic) => existing.has(topic))
      if (place.kind !== 'retry' || existing.has(place.topic) || sources.length === 0) continue
      try {
        await createMissing(admin, { ...place, sources })
        existing.add(place.topic)
        report('retry-topic', `${place.topic} was created again`)
      } catch (error) {
        // Its deletion may still be in progress.
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
