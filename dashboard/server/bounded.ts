import type { Clock } from '../../src/ports/clock.ts'

/** Forgets the oldest, so that at most `most` are kept. */
export function dropOldest(kept: Map<string, unknown> | Set<string>, most: number): void {
  for (const oldest of kept.keys()) {
    if (kept.size <= most) return
    kept.delete(oldest)
  }
}

const MOST_CLIENTS = 1_000

interface Bucket {
  tokens: number
  at: number
}

/** A token bucket for each client, of those that asked last. */
export class Buckets {
  readonly #buckets = new Map<string, Bucket>()
  readonly #burst: number
  readonly #eachMs: number
  readonly #clock: Clock

  /** `burst`: tokens of a client that was quiet; one more comes each `eachMs`. */
  constructor({ burst, eachMs }: { readonly burst: number; readonly eachMs: number }, clock: Clock) {
    this.#burst = burst
    this.#eachMs = eachMs
    this.#clock = clock
  }

  /** With what came since it was asked for. */
  of(client: string): Bucket {
    const now = this.#clock.monotonic()
    const bucket = this.#buckets.get(client) ?? { tokens: this.#burst, at: now }
    bucket.tokens = Math.min(this.#burst, bucket.tokens + (now - bucket.at) / this.#eachMs)
    bucket.at = now
    this.#buckets.delete(client)
    this.#buckets.set(client, bucket)
    dropOldest(this.#buckets, MOST_CLIENTS)
    return bucket
  }

  /** Until it has as many tokens. */
  waitMs({ tokens }: Bucket, cost: number): number {
    return Math.ceil((cost - tokens) * this.#eachMs)
  }
}

/** All of a body as text, if it is not larger. */
export async function limitedText(
  body: ReadableStream<Uint8Array> | null,
  most: number,
  tooLarge: () => Error,
): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > most) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
