import { either, judged, object, placed, plainText, ELSEWHERE, type Rule, type Table } from '../foundation/options.ts'
import { shown } from '../foundation/shown.ts'
import type { Source } from '../ports/source.ts'

/**
 * Names that stand in the keys in place of the present ones, so that a rename keeps every key. What is left out stands there
 * as it is called now.
 */
export interface FormerNames {
  /** Former name of the consumer. */
  readonly name?: string
  /** Former consumer group. On RabbitMQ give `queue`. */
  readonly group?: string
  /**
   * Former topics by their present names: `{ 'sms.v2': 'sms' }`. Each must be one that the consumer reads. Not for IDs made of an
   * offset, which begins anew in another topic: such a message would have the ID of an older one, and be a conflict.
   */
  readonly topics?: Readonly<Record<string, string>>
  /** RabbitMQ: the former queue, which is group and origin. */
  readonly queue?: string
}

const TEXT = plainText()

const EXPECTED_TOPICS = `former topics by their present names, such as { 'sms.v2': 'sms' }`

/** Names by names. */
const TOPICS: Rule<Readonly<Record<string, string>>> = judged(EXPECTED_TOPICS, (value) => {
  const isThere = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isThere || Object.keys(value).length === 0) return `expected ${EXPECTED_TOPICS}, got ${shown(value)}`
  const problems: string[] = []
  for (const [present, former] of Object.entries(value)) {
    TEXT.read(present, { name: 'a present name', problems })
    TEXT.read(former, { name: `the former name of ${shown(present)}`, problems })
  }
  return problems[0]
})

const NAMES: Table<FormerNames, keyof FormerNames> = {
  name: TEXT,
  group: TEXT,
  topics: TOPICS,
  queue: TEXT,
  [ELSEWHERE]: placed(['origin', 'origins', 'topic'], `say topics: { 'present name': 'former name' }, or queue`),
}

export const SCOPE: Rule<string | FormerNames> = either(TEXT, object(NAMES))

type Scope = string | FormerNames | undefined

/** What does not fit together, whatever runs the consumer. */
export function problemsOfFormerNames(scope: Scope, strategy: string): readonly string[] {
  if (typeof scope !== 'object') return []
  const { name, group, topics, queue } = scope
  if ([name, group, topics, queue].every((one) => one === undefined)) {
    return ['scope: expected text, or at least one of name, group, topics, queue, got none of them']
  }
  if (queue !== undefined && (group !== undefined || topics !== undefined)) {
    return ['scope: expected group and topics (Kafka), or queue (RabbitMQ), got both']
  }
  if (topics === undefined || strategy !== 'offsets') return []
  return ['scope.topics: leave it out with a store of strategy offsets: its positions are those of one topic']
}

/** What does not fit the broker: the keys would be other ones than before, and nobody would notice. */
export function problemsOfFormerPlaces(
  scope: Scope,
  { system, origins }: Pick<Source, 'system' | 'origins'>,
): readonly string[] {
  if (typeof scope !== 'object') return []
  const { group, topics, queue } = scope
  if (system === 'rabbitmq' && (group !== undefined || topics !== undefined)) {
    return [
      `scope: expected queue on RabbitMQ, got ${group === undefined ? 'topics' : 'group'}: { queue: 'the former queue' }`,
    ]
  }
  if (system === 'kafka' && queue !== undefined) {
    return [`scope: expected group or topics on Kafka, got queue: { group: 'the former group' }`]
  }
  // One that is misspelt would leave its topic with other keys, and every message would run again.
  const unknown = Object.keys(topics ?? {}).filter((topic) => origins !== undefined && !origins.includes(topic))
  if (unknown.length === 0) return []
  return [
    `scope.topics: expected topics as they are called now, of ${origins?.join(', ')}, got ${unknown.join(', ')}: { 'present name': 'former name' }`,
  ]
}
