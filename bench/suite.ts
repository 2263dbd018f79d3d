import type { Endpoint, ServerName } from '../test/kit/servers/catalogue.ts'
import type { Servers, Versions } from './machine.ts'
import type { Plan } from './places/plans.ts'

/** Run by `npm run bench -- <name>`. */
export interface Suite {
  readonly name: string
  /** Packages of `node_modules` whose versions the report shows. */
  readonly packages: readonly string[]
  /** How many messages of each scenario show that it works, where no figure matters (`--smoke`). */
  readonly smoke: number
  readonly scenarios: readonly Scenario[]
}

/**
 * Contenders that do the same work on the same messages. All of them start cold, or all of them have a first pass that is not
 * measured. Where one is so slow that it would take minutes, it has a scenario of its own with fewer messages, the library in it too.
 */
export interface Scenario {
  readonly name: string
  readonly title: string
  /** Number of messages, duplicates included, unless `--n` is given. */
  readonly messages: number
  /** Number of runs of each contender, unless `--reps` is given. @defaultValue 3 */
  readonly repetitions?: number
  readonly needs: readonly ServerName[]
  /** The topic or queue that is made anew and filled for each repetition; none where no broker takes part. */
  readonly place?: Plan
  readonly contenders: readonly Contender[]
  readonly ratios: readonly Ratio[]
  readonly bounds?: readonly Bound[]
}

export interface Contender {
  readonly name: string
  /**
   * Sees to what it takes beside packages and servers, and tells the versions of that by name. May be called more than once. Rejects
   * with what cannot be had here: then the contender is left out. @defaultValue it takes nothing else
   */
  readonly prepare?: () => Promise<Versions>
  /** Runs in a process of its own, once. Rejects where the result is wrong: however fast, that is a failure. */
  readonly run: (job: Job) => Promise<Measurement>
}

/** Contenders by name. */
export type Contenders = Readonly<Record<string, Contender['run'] | Omit<Contender, 'name'>>>

/** In the order in which they are written. */
export function named(contenders: Contenders): readonly Contender[] {
  return Object.entries(contenders).map(([name, how]) =>
    typeof how === 'function' ? { name, run: how } : { name, ...how },
  )
}

/** Input of one run of a contender. */
export interface Job {
  /** Never used before: for group, keys and tables. Fits the name of a schema. */
  readonly name: string
  /** Deliveries. */
  readonly messages: number
  /** Distinct IDs among them: 0, 1, 2, ...; fewer than messages where the place holds duplicates. */
  readonly ids: number
  /** Empty where the scenario has none. */
  readonly place: string
  readonly servers: Servers
  /** Whatever takes long beside the messages is cut short: no figure matters. */
  readonly isSmoke: boolean
}

export interface Measurement {
  /** Deliveries, of which duplicates are some. */
  readonly messages: number
  /** From the first message that arrived to the end of the last. */
  readonly tookMs: number
  /** CPU time of the whole process in that time. */
  readonly cpuMs: number
  /** Other measurements, by name and unit. */
  readonly figures?: Readonly<Record<string, number>>
}

/** The rate of one contender over that of another in the same repetition. */
export interface Ratio {
  readonly of: string
  readonly to: string
  readonly goal?: number
}

/** Microseconds of CPU for each message, of every contender: a figure for bounds. */
export const CPU_EACH = 'CPU us each'

/** The most that a figure of a contender may be. */
export interface Bound {
  readonly of: string
  /** A name in its `figures`, or `CPU_EACH`. */
  readonly figure: string
  readonly most: number
  /** What may be no more: the median, or what was found in each repetition. @defaultValue 'median' */
  readonly in?: 'median' | 'each'
  /** Then `most` is a multiple of that figure of this contender in the same repetition. */
  readonly timesThatOf?: string
  /** Then `most` is how much it may be above that figure of this contender in the same repetition. */
  readonly aboveThatOf?: string
}

export function serverOf({ servers }: Job, name: ServerName): Endpoint {
  const endpoint = servers[name]
  if (endpoint === undefined) throw new Error(`the scenario must name ${name} among what it needs`)
  return endpoint
}

/** With those contenders alone whose name has one of the parts, and what compares them. */
export function narrowed(scenario: Scenario, parts: readonly string[]): Scenario {
  return keeping(scenario, ({ name }) => parts.some((part) => name.includes(part)))
}

/** With some contenders alone, and what compares them. */
export function keeping(scenario: Scenario, isKept: (contender: Contender) => boolean): Scenario {
  const contenders = scenario.contenders.filter(isKept)
  const has = (wanted: string): boolean => contenders.some(({ name }) => name === wanted)
  const { ratios, bounds = [] } = scenario
  return {
    ...scenario,
    contenders,
    ratios: ratios.filter(({ of, to }) => has(of) && has(to)),
    bounds: bounds.filter(
      ({ of, timesThatOf = of, aboveThatOf = of }) => has(of) && has(timesThatOf) && has(aboveThatOf),
    ),
  }
}

/** For a run whose figures mean nothing: there is nothing to judge. */
export function withoutGoals(scenario: Scenario): Scenario {
  return { ...scenario, ratios: scenario.ratios.map(({ of, to }) => ({ of, to })), bounds: [] }
}
