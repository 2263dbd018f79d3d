import { uniqueName } from '../test/support/namespace.ts'
import { runAlone, type ProcessOptions } from './contender-process.ts'
import type { Servers } from './machine.ts'
import type { Contender, Measurement, Scenario } from './suite.ts'
import { Topics } from './topics.ts'

export interface RunOptions extends ProcessOptions {
  readonly suite: string
  readonly messages: number
  readonly repetitions: number
  readonly servers: Servers
  readonly progress: (line: string) => void
}

/** What each contender measured in one repetition, by its name. */
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

/** One repetition, on topics of its own: one for each number of messages that is asked for. */
async function runRound(scenario: Scenario, contenders: readonly Contender[], options: RunOptions): Promise<Round> {
  const { suite, messages, servers, progress } = options
  await using topics = servers.kafka === undefined ? undefined : await Topics.open(servers.kafka)
  const filled = new Map<number, string>()
  const round: Record<string, Measurement> = {}
  try {
    for (const contender of contenders) {
      const size = Math.ceil(messages * (contender.share ?? 1))
      const topic = filled.get(size) ?? uniqueName('bench')
      if (!filled.has(size) && topics !== undefined && scenario.topic !== undefined) {
        filled.set(size, topic)
        await topics.fill(topic, scenario.topic, size)
      }
      const job = { name: uniqueName('bench'), messages: size, topic, servers }
      const order = { suite, scenario: scenario.name, contender: contender.name, job }
      const measured = await runAlone(order, options)
      progress(`${scenario.name}, ${contender.name}: ${Math.round(rateOf(measured)).toLocaleString('en-US')}/s`)
      round[contender.name] = measured
    }
  } finally {
    if (filled.size > 0) await topics?.remove([...filled.values()])
  }
  return round
}

/** Messages in a second. */
export function rateOf({ messages, tookMs }: Measurement): number {
  return messages / (tookMs / 1_000)
}
