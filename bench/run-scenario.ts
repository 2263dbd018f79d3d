import { uniqueName } from '../test/kit/namespace.ts'
import { runAlone, type ProcessOptions } from './contender-process.ts'
import type { Servers } from './machine.ts'
import { openPlaces } from './places/open-places.ts'
import { deliveriesOf } from './places/places.ts'
import type { Measurement, Scenario } from './suite.ts'

export interface RoundOptions extends Pick<ProcessOptions, 'profiles'> {
  readonly suite: string
  readonly messages: number
  readonly servers: Servers
  readonly isSmoke: boolean
  readonly progress: (line: string) => void
}

export interface RunOptions extends RoundOptions, ProcessOptions {
  readonly repetitions: number
}

/** A contender in one build of the library. */
export interface Entrant {
  /** Of its measurement. */
  readonly name: string
  readonly contender: string
  /** The compiled `child.ts`. */
  readonly child: string
}

/** Measurement of each entrant in one repetition, by its name. */
export type Round = Readonly<Record<string, Measurement>>

/** All contenders in every repetition, each time another one first: the machine is not the same all the time. */
export async function runScenario(
  scenario: Scenario,
  { child, repetitions, ...options }: RunOptions,
): Promise<readonly Round[]> {
  const entrants = scenario.contenders.map(({ name }): Entrant => ({ name, contender: name, child }))
  const rounds: Round[] = []
  for (let repetition = 0; repetition < repetitions; repetition++) {
    const first = repetition % entrants.length
    rounds.push(await runRound(scenario, [...entrants.slice(first), ...entrants.slice(0, first)], options))
  }
  return rounds
}

/** One repetition, one entrant after the other, on a topic or on queues of its own: as many messages for each. */
export async function runRound(
  scenario: Scenario,
  entrants: readonly Entrant[],
  { suite, messages, servers, isSmoke, profiles, progress }: RoundOptions,
): Promise<Round> {
  await using places = await openPlaces(scenario.place, servers)
  const deliveries = deliveriesOf(scenario.place, messages)
  const round: Record<string, Measurement> = {}
  for (const { name, contender, child } of entrants) {
    const place = (await places?.filled(deliveries)) ?? ''
    const job = { name: uniqueName('bench'), messages, ids: deliveries.ids, place, servers, isSmoke }
    const measured = await runAlone({ suite, scenario: scenario.name, contender, job }, { child, profiles })
    progress(`${scenario.name}, ${name}: ${Math.round(rateOf(measured)).toLocaleString('en-US')}/s`)
    round[name] = measured
  }
  return round
}

/** Messages in a second. */
export function rateOf({ messages, tookMs }: Measurement): number {
  return messages / (tookMs / 1_000)
}
