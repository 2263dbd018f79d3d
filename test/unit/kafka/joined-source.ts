import { type KafkaOptions } from '../../../adapters/kafkajs/index.ts'
import { kafkaSource } from '../../../adapters/kafkajs/client.ts'
import type { Source } from '../../../src/internal.ts'
import { uniqueName } from '../../kit/namespace.ts'
import { RecordingIntake } from '../../kit/recording-intake.ts'
import { ScriptedKafka, type ScriptedConsumer } from '../../kafka/scripted.ts'

export interface JoinedSource {
  readonly kafka: ScriptedKafka
  readonly consumer: ScriptedConsumer
  readonly source: Source
  readonly intake: RecordingIntake
}

const joined: Source[] = []

/** After each test. */
export async function closeSources(): Promise<void> {
  await Promise.all(joined.splice(0).map((source) => source.close()))
}

/** A source that has joined with partition 0 of `t`, of which the broker has 0 to 100. */
export async function joinedSource(
  committed: number | undefined,
  options: Partial<KafkaOptions> = {},
): Promise<JoinedSource> {
  return openSource(kafkaWith(committed), { topics: ['t'], ...options })
}

export async function openSource(kafka: ScriptedKafka, options: Partial<KafkaOptions>): Promise<JoinedSource> {
  const source = sourceOf(kafka, { topics: [], ...options })
  const intake = new RecordingIntake()
  await source.open(intake)
  return { kafka, consumer: kafka.newest, source, intake }
}

/** Not open. */
export function sourceOf(kafka: ScriptedKafka, options: Pick<KafkaOptions, 'topics'> & Partial<KafkaOptions>): Source {
  const { source } = kafkaSource(kafka, { group: uniqueName('group'), commitEveryMs: 5, ...options })
  joined.push(source)
  return source
}

/** With topic `t`, of whose partition 0 it has 0 to 100. */
export function kafkaWith(committed: number | undefined): ScriptedKafka {
  const kafka = new ScriptedKafka()
  kafka.topics.push('t')
  kafka.bounds.set('t/0', { low: 0n, high: 100n })
  if (committed !== undefined) kafka.committed.set('t/0', BigInt(committed))
  return kafka
}

export function settleAll(intake: RecordingIntake): void {
  for (const delivery of intake.deliveries) delivery.settle()
}
