import { createHmac, randomBytes } from 'node:crypto'
import { isIPv6 } from 'node:net'
import type { Clock } from '../../src/ports/clock.ts'
import type { Logger } from '../../src/ports/logger.ts'
import { Buckets, dropOldest } from './bounded.ts'
import { HttpError } from './http-error.ts'

/** Wrong credentials of one address that are looked at, at once and afterwards. */
const BURST = 10
const EACH_MS = 5_000
/** Credentials that were right lately are looked at although others try from the same address, such as that of a proxy. */
const MOST_RIGHT = 1_000
/** Between two lines of the log. */
const LINE_MS = 60_000
const MOST_NAMED = 5

/** One use of credentials; one of these is called when it is known what they are. */
export interface Attempt {
  right(): void
  wrong(): void
  /** Nobody could say. */
  unknown(): void
}

/** Slows down who tries credentials: by address, in bounded memory. The log has a line for each burst, and one a minute while it lasts. */
export class Attempts {
  readonly #clock: Clock
  readonly #log: Logger | undefined
  readonly #secret: Buffer = randomBytes(32)
  readonly #buckets: Buckets
  readonly #right = new Set<string>()
  readonly #named = new Set<string>()
  #wrong = 0
  #ignored = 0
  #cancel: (() => void) | undefined

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Logger | undefined }) {
    this.#clock = clock
    this.#log = log
    this.#buckets = new Buckets({ burst: BURST, eachMs: EACH_MS }, clock)
  }

  /**
   * Before the credentials are looked at: many that come at once count, too.
   *
   * @throws HttpError 429: they are not looked at
   */
  begin(client: string | undefined, credentials: string): Attempt {
    const name = nameOf(client)
    const digest = createHmac('sha256', this.#secret).update(credentials).digest('base64url')
    const bucket = this.#buckets.of(name)
    if (bucket.tokens < 1 && !this.#right.has(digest)) {
      this.#note(name, 'ignored')
      const waitMs = this.#buckets.waitMs(bucket, 1)
      throw new HttpError(429, 'HTTP_TOO_MANY', 'too many wrong credentials from this address: wait', waitMs)
    }
    bucket.tokens--
    return {
      right: () => {
        bucket.tokens++
        this.#right.delete(digest)
        this.#right.add(digest)
        dropOldest(this.#right, MOST_RIGHT)
      },
      wrong: () => {
        bucket.tokens = Math.max(0, bucket.tokens)
        this.#right.delete(digest)
        this.#note(name, 'wrong')
      },
      unknown: () => void bucket.tokens++,
    }
  }

  close(): void {
    this.#tell()
    this.#cancel?.()
    this.#cancel = undefined
  }

  #note(name: string, what: 'wrong' | 'ignored'): void {
    if (what === 'wrong') this.#wrong++
    else this.#ignored++
    if (this.#named.size < MOST_NAMED) this.#named.add(name)
    if (this.#cancel === undefined) this.#tell()
  }

  /** Those since the last line, if there are any; the next line comes a minute later. */
  #tell(): void {
    const [wrong, ignored] = [this.#wrong, this.#ignored]
    if (wrong + ignored === 0) return
    const clients = [...this.#named]
    const times = wrong + ignored === 1 ? 'once' : `${wrong + ignored} times`
    this.#wrong = this.#ignored = 0
    this.#named.clear()
    this.#log?.warn(
      { wrong, ignored, clients },
      `dashboard: wrong credentials, ${times}, from ${clients.join(', ')}${ignored === 0 ? '' : `; ${ignored} of them were not looked at`}`,
    )
    this.#cancel?.()
    this.#cancel = this.#clock.after(
      LINE_MS,
      () => {
        this.#cancel = undefined
        this.#tell()
      },
      { background: true },
    )
  }
}

/** Who has one address of IPv6 has its network of 64 bits. */
function nameOf(client: string | undefined): string {
  if (client === undefined) return 'an unknown address'
  const plain = client.replace(/^::ffff:(?=\d+\.)/i, '')
  return isIPv6(plain) ? `${networkOf(plain)}::/64` : plain.slice(0, 64)
}

function networkOf(address: string): string {
  const [before = '', after] = (address.split('%')[0] ?? '').split('::')
  const [left, right] = [before, after ?? ''].map((part) => part.split(':').filter((group) => group !== ''))
  const missing = after === undefined ? 0 : 8 - (left?.length ?? 0) - (right?.length ?? 0)
  const groups = [...(left ?? []), ...Array.from({ length: Math.max(0, missing) }, () => '0'), ...(right ?? [])]
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
