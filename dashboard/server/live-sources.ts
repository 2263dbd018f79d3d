import type { Clock } from '../../src/ports/clock.ts'
import { describeError } from '../../src/foundation/errors.ts'
import { withoutSecrets } from '../../src/foundation/without-secrets.ts'
import type { LiveAnswer, LiveEntry, LiveInstance, LiveSnapshot } from '../api.ts'
import { limitedText } from './bounded.ts'
import { Cached } from './cached.ts'
import type { DashboardOptions } from './options.ts'
import { answerWithin } from './answer-within.ts'

/** The name of this process among the instances. */
export const HERE = 'this process'

const CACHED_MS = 1_000
const TIMEOUT_MS = 2_000
const LARGEST_ANSWER = 8_000_000

/** Live consumers: of this process, and of others that serve `/live.json`. */
export class LiveSources {
  readonly #here: DashboardOptions['live']
  readonly #instances: readonly Instance[]
  readonly #cached: Cached<LiveInstance>
  readonly #last = new Map<string, LiveSnapshot>()

  constructor({ live, instances = [] }: Pick<DashboardOptions, 'live' | 'instances'>, clock: Clock) {
    this.#here = live
    this.#instances = instances.map(instanceOf)
    this.#cached = new Cached(CACHED_MS, clock)
  }

  get isThere(): boolean {
    return this.#here !== undefined || this.#instances.length > 0
  }

  async all(): Promise<LiveAnswer['instances']> {
    const others = await Promise.all(this.#instances.map((one) => this.#cached.get(one.name, () => this.#ask(one))))
    if (this.#here === undefined) return others
    return [{ name: HERE, state: 'ok', snapshot: this.#here.snapshot() }, ...others]
  }

  /** What is remembered about one message, the oldest first. Instances that do not answer are left out. */
  async entriesOf(consumer: string, key: string): Promise<readonly (LiveEntry & { readonly instance: string })[]> {
    const asked = this.#instances.map(async (one) => ({ name: one.name, snapshot: await read(one, key) }))
    const settled = await Promise.allSettled(asked)
    const found = settled.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    if (this.#here !== undefined) found.push({ name: HERE, snapshot: this.#here.snapshot({ key }) })
    return found
      .flatMap(({ name, snapshot }) =>
        snapshot.consumers
          .filter((one) => one.consumer === consumer)
          .flatMap(({ recent }) => recent.toReversed())
          .filter((entry) => entry.key === key)
          .map((entry) => ({ ...entry, instance: name })),
      )
      .toSorted((a, b) => a.at - b.at)
  }

  /** The instances that a consumer runs in, as far as they tell: of those that do not answer now, what they told last. */
  async processesOf(consumer: string, group: string): Promise<readonly string[]> {
    const all = await this.all()
    return all
      .filter(({ snapshot }) =>
        snapshot?.consumers.some(
          (one) =>
            one.consumer === consumer &&
            one.stoppedAt === undefined &&
            (one.group === undefined || one.group === group),
        ),
      )
      .map(({ name, state }) => (state === 'ok' ? name : `${name} (not reachable now)`))
  }

  async #ask(instance: Instance): Promise<LiveInstance> {
    const { name } = instance
    try {
      const snapshot = await read(instance, undefined)
      this.#last.set(name, snapshot)
      return { name, state: 'ok', snapshot }
    } catch (error) {
      return { name, state: 'unreachable', error: withoutSecrets(textOf(error)), snapshot: this.#last.get(name) }
    }
  }
}

interface Instance {
  /** Without credentials. */
  readonly name: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** `fetch` refuses credentials in an address. */
function instanceOf(address: string): Instance {
  const url = new URL(address)
  const { username, password } = url
  url.username = ''
  url.password = ''
  url.search = ''
  const name = url.href.replace(/\/$/, '')
  const given = [username, password].map(decodeURIComponent).join(':')
  const headers = username === '' ? {} : { authorization: `Basic ${Buffer.from(given).toString('base64')}` }
  return { name, url: name.endsWith('/live.json') ? name : `${name}/live.json`, headers }
}

async function read({ url, headers }: Instance, key: string | undefined): Promise<LiveSnapshot> {
  const asked = key === undefined ? url : `${url}?key=${encodeURIComponent(key)}`
  // A redirect could lead anywhere.
  const options = { headers, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) } as const
  const response = await fetch(asked, options)
  if (!response.ok) throw new Error(`answered ${response.status}`)
  const tooLarge = (): Error => new Error(`answered more than ${LARGEST_ANSWER} bytes`)
  const text = limitedText(response.body, LARGEST_ANSWER, tooLarge)
  const snapshot: unknown = JSON.parse(await answerWithin(TIMEOUT_MS, text))
  const { schemaVersion, consumers } = (snapshot ?? {}) as Partial<LiveSnapshot>
  if (schemaVersion !== 1 || !Array.isArray(consumers)) throw new Error('answered something else than live signals')
  return snapshot as LiveSnapshot
}

/** The cause tells more than `fetch failed`. */
function textOf(error: unknown): string {
  const { cause } = (error ?? {}) as { readonly cause?: unknown }
  return cause === undefined ? describeError(error) : describeError(cause)
}
