import { uniqueName } from '../test/kit/namespace.ts'
import { runAlone, type ProcessOptions } from './contender-process.ts'
import type { Servers } from './machine.ts'
import { openPlaces } from './places/open-places.ts'
import { deliveriesOf } from './places/places.ts'
import type { Contender, Measurement, Scenario } from './suite.ts'

export interface RunOptions extends ProcessOptions {
  readonly suite: string
  readonly messages: number
  readonly repetitions: number
  readonly servers: Servers
  readonly isSmoke: boolean
  readonly progress: (line: string) => void
}

/** Measurement of each contender in one repetition, by its name. */
export type Round = Readonly<Record<string, Measurement>>

/** All contenders in every repetition, each time another one first: the machine is not the same all the time. */
export async function runScenario(scenario: Scenario, options: RunOptions): Promise<readonly Round[]> {
  const rounds: Round[] = []
  for (let repetition = 0; repetition < options.repetitions; repetition++) {
    const first = repetition % scenario.contenders.length
    const rotated = [...scenario.contenders.slice(first), ...scenario.contenders.slice(0, first)]
    rounds.push(await runRound(scenario, rotated, options))
  }
  return rounds
}

/** One repetition, on topics or queues of its own. */
async function runRound(scenario: Scenario, contenders: readonly Contender[], options: RunOptions): Promise<Round> {
  const { suite, messages, servers, isSmoke, progress } = options
  await using places = await openPlaces(scenario.place, servers)
  const round: Record<string, Measurement> = {}
  for (const contender of contenders) {
    const size = Math.ceil(messages * (contender.share ?? 1))
    const deliveries = deliveriesOf(scenario.place, size)
    const place = (await places?.filled(deliveries)) ?? ''
    const job = { name: uniqueName('bench'), messages: size, ids: deliveries.ids, place, servers, isSmoke }
    const order = { suite, scenario: scenario.name, contender: contender.name, job }
    const measured = await runAlone(order, options)
    progress(`${scenario.name}, ${contender.name}: ${Math.round(rateOf(measured)).toLocaleString('en-US')}/s`)
    round[contender.name] = measured
  }
  return round
}

/** Messages in a second. */
export function rateOf({ messages, tookMs }: Measurement): number {
  return messages / (tookMs / 1_000)
}
