import { removeKeys, withRedis } from '../servers/clients.ts'
import { uniqueName } from '../namespace.ts'
import { server } from '../servers/server.ts'
import { Life } from './life.ts'
import { ENDS } from './moments.ts'
import type { Moment, ProgramName, StopSpec } from './spec.ts'

const MESSAGES = 4

/** Topics or queues of a test. */
export interface StopPlaces extends AsyncDisposable {
  readonly broker: StopSpec['broker']
  readonly names: readonly string[]
  send(place: string, ids: readonly string[]): Promise<void>
}

/** What was not as it should be, and the story of the process. Empty: all was. */
type Faults = readonly string[]

/**
 * Processes of one program, one after the other, on the same places and the same store: each is the next start of the
 * one before it.
 */
class Chain implements AsyncDisposable {
  readonly #program: ProgramName
  readonly #places: StopPlaces
  readonly #redis: StopSpec['redis']
  readonly #sent = new Set<string>()
  readonly #ended: string[] = []
  #rounds = 0

  private constructor(program: ProgramName, places: StopPlaces, redis: StopSpec['redis']) {
    this.#program = program
    this.#places = places
    this.#redis = redis
  }

  static async begin(program: ProgramName, places: StopPlaces): Promise<Chain> {
    const { url } = await server('redis')
    return new Chain(program, places, { url, prefix: uniqueName('stops') })
  }

  /** Sends so many messages to each place. */
  async send(count: number): Promise<void> {
    const ids = Array.from({ length: count }, (_, at) => `${this.#rounds}.${at}`)
    this.#rounds++
    for (const place of this.#places.names) {
      await this.#places.send(place, ids)
      for (const id of ids) this.#sent.add(`${place} ${id}`)
    }
  }

  /** A process that is told to stop at a moment. */
  async stopAt(moment: Moment): Promise<Faults> {
    const life = await this.#live({ moment })
    const faults = this.#faultsOf(life, ENDS[this.#program])
    if (life.told('signal').length === 0) faults.push('the moment never came')
    if (life.stderr !== '') faults.push(life.stderr)
    return withStory(`told to stop at ${moment.what} ${moment.nth}`, faults, life)
  }

  /** A process whose second consumer cannot start, while handlers of the others run. */
  async startBroken(): Promise<Faults> {
    const life = await this.#live({ moment: { what: 'never', nth: 1 }, isBroken: true })
    const faults = this.#faultsOf(life, 'exit code 1')
    if (life.told('begun').length === 0) faults.push('nothing had begun')
    if (!life.stderr.includes('the store refuses')) faults.push(`the cause was not told: ${life.stderr}`)
    return withStory('one cannot start', faults, life)
  }

  /** A last process handles what is left: each message was then handled once. */
  async end(): Promise<Faults> {
    await this.send(1) // So that there is something to end with.
    const faults = [...(await this.stopAt({ what: 'handled', nth: this.#sent.size - this.#ended.length }))]
    for (const id of this.#sent) {
      const times = this.#ended.filter((ended) => ended === id).length
      if (times !== 1) faults.push(`${id} was handled ${times} times`)
    }
    return faults
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await withRedis(this.#redis.url, (redis) => removeKeys(redis, `*${this.#redis.prefix}`))
    await this.#places[Symbol.asyncDispose]()
  }

  async #live(given: Pick<StopSpec, 'moment' | 'isBroken'>): Promise<Life> {
    const { broker, names } = this.#places
    const life = await Life.of(this.#program, { broker, places: names, redis: this.#redis, ...given })
    this.#ended.push(...life.told('ended'))
    return life
  }

  #faultsOf(life: Life, end: string): string[] {
    const ended = new Set(life.told('ended'))
    const faults = life.told('begun').flatMap((id) => (ended.has(id) ? [] : [`${id} had begun and did not end`]))
    if (life.end !== end) faults.push(`expected ${end}, got ${life.end}`)
    if (life.told('doubt').length > 0) faults.push(`it met messages in doubt: ${life.told('doubt').join(', ')}`)
    if (life.told('closed').length !== 1) faults.push('it ended before it had closed its clients')
    return faults
  }
}

function withStory(title: string, faults: readonly string[], life: Life): Faults {
  return faults.length === 0 ? [] : [title, ...faults, life.story.join('\n')]
}

/**
 * A process for each moment, which is told to stop then. Each goes on where the one before it ended, and the last one
 * ends when all is handled. Resolves with the faults of the first that has some.
 */
export async function stopAtEach(
  moments: readonly Moment[],
  program: ProgramName,
  places: StopPlaces,
): Promise<Faults> {
  await using chain = await Chain.begin(program, places)
  for (const moment of moments) {
    await chain.send(MESSAGES)
    const faults = await chain.stopAt(moment)
    if (faults.length > 0) return faults
  }
  return await chain.end()
}

/** A process whose second consumer cannot start while handlers of the others run, and one after it that handles the rest. */
export async function startBroken(program: ProgramName, places: StopPlaces): Promise<Faults> {
  await using chain = await Chain.begin(program, places)
  await chain.send(MESSAGES)
  return [...(await chain.startBroken()), ...(await chain.end())]
}
