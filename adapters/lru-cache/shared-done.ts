import {
  systemEntropy,
  type Digest,
  type DoneChannel,
  type DurationMs,
  type EpochMs,
  type Key,
} from '../../src/internal.ts'
import type { DoneCache } from './done-cache.ts'

/** A message that this process has marked. */
export interface MarkedHere {
  readonly key: Key
  readonly digest: Digest
  readonly retentionMs: DurationMs
  readonly since: EpochMs | undefined
}

/** `by`: the process, which need not hear itself. */
interface Text {
  readonly by?: unknown
  readonly done?: unknown
  readonly forgot?: unknown
}

/** A text of so many entries has less than 7,500 bytes. */
const MOST_DONE = 70
const MOST_FORGOTTEN = 250

/**
 * Tells other processes what this one has marked, and what a person has decided, and hears the same from them. No
 * message waits until a mark is published, and none depends on it: a process that hears nothing asks the store.
 */
export class SharedDone {
  readonly #cache: DoneCache
  readonly #channel: DoneChannel
  readonly #by = systemEntropy.ownerToken()
  #isSubscribed = false

  constructor(cache: DoneCache, channel: DoneChannel) {
    this.#cache = cache
    this.#channel = channel
  }

  subscribe(): void {
    if (this.#isSubscribed) return
    this.#isSubscribed = true
    this.#channel.subscribe({
      onOpen: () => this.#cache.startOver(true),
      onLost: () => this.#cache.startOver(false),
      onText: (text) => this.#hear(text),
    })
  }

  done(marked: readonly MarkedHere[]): void {
    for (let at = 0; at < marked.length; at += MOST_DONE) {
      const done = marked
        .slice(at, at + MOST_DONE)
        .map(({ key, digest, retentionMs, since }) => [key, digest, retentionMs, since ?? null])
      void this.#publish({ by: this.#by, done })
    }
  }

  /** Resolves when the others can hear it, or will not: then it takes effect there after the time limit of their caches. */
  async forgot(keys: readonly Key[]): Promise<void> {
    for (let at = 0; at < keys.length; at += MOST_FORGOTTEN) {
      await this.#publish({ by: this.#by, forgot: keys.slice(at, at + MOST_FORGOTTEN) })
    }
  }

  async #publish(text: Text): Promise<void> {
    try {
      await this.#channel.publish(JSON.stringify(text))
    } catch {
      // The others ask the store.
    }
  }

  #hear(text: string): void {
    const { by, done, forgot } = parsed(text)
    if (by === this.#by) return
    if (Array.isArray(forgot)) this.#cache.decide(forgot.filter((key) => typeof key === 'string'))
    if (!Array.isArray(done)) return
    for (const entry of done as readonly unknown[]) {
      if (!Array.isArray(entry)) continue
      const [key, digest, retentionMs, since] = entry as readonly unknown[]
      if (typeof key !== 'string' || typeof digest !== 'string' || typeof retentionMs !== 'number') continue
      const doneSince = typeof since === 'number' ? since : undefined
      this.#cache.hear(key, { digest, result: undefined, since: doneSince }, retentionMs)
    }
  }
}

/** Somebody else may use the channel. */
function parsed(text: string): Text {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
