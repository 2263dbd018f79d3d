import { ConfigError, type Message } from '../../src/index.ts'
import { withoutUndefined } from './without-undefined.ts'

export interface RabbitOptions {
  /** The queue to consume: the group of the scope. 1 to 255 bytes. */
  readonly queue: string
  /**
   * Deliveries taken and not yet settled: choose at least the handler slots of the consumer, about twice is right, 100 to
   * 300 is the optimum of most. 1 to 1000. @defaultValue 200
   */
  readonly prefetch?: number
  /**
   * `true`: both queues are declared, durable, where they are missing; where they exist they must be alike. `check`: they
   * must exist. `false`: nothing is asked, but consuming a queue that is missing fails. @defaultValue true
   */
  readonly assert?: true | 'check' | false
  /** Of queues that `assert: true` declares. @defaultValue `quorum` */
  readonly queueType?: 'quorum' | 'classic'
  /** Where dead letters go, by the default exchange. @defaultValue `<queue>.dead-letter` */
  readonly deadLetterQueue?: string
  /**
   * The ordering key: messages of one lane are handled in the order they arrive, one at a time. Across processes that
   * needs a single active consumer. Should it throw, the message has no lane. @defaultValue none, no order
   */
  readonly lane?: (message: Message) => string | undefined
  /** Acks gathered in as few frames as possible; `false`: each at once. @defaultValue true */
  readonly ackBatch?: boolean
  /**
   * The queue has `x-single-active-consumer` (declared so by `assert: true`): a stop then hands nothing over before all
   * that was dispatched is finished. @defaultValue false
   */
  readonly singleActiveConsumer?: boolean
}

export type RabbitSettings = Required<Omit<RabbitOptions, 'lane'>> & {
  readonly lane: ((message: Message) => string | undefined) | undefined
}

const DEFAULTS = {
  prefetch: 200,
  assert: true,
  queueType: 'quorum',
  ackBatch: true,
  singleActiveConsumer: false,
} as const satisfies Partial<RabbitOptions>

const MOST_PREFETCH = 1000
const MOST_NAME_BYTES = 255

/** Checks everything and reports all problems in one error. @throws ConfigError `CONFIG_INVALID` */
export function resolveRabbitOptions(options: RabbitOptions): RabbitSettings {
  const settings: RabbitSettings = {
    ...DEFAULTS,
    deadLetterQueue: `${options.queue}.dead-letter`,
    lane: undefined,
    ...withoutUndefined<RabbitOptions>(options),
  }
  const problems: string[] = []
  const expect = (isRight: boolean, name: keyof RabbitOptions, expected: string): void => {
    if (!isRight) problems.push(`${name}: expected ${expected}, got ${JSON.stringify(settings[name]) ?? 'nothing'}`)
  }
  expect(isQueueName(settings.queue), 'queue', `a name of 1 to ${MOST_NAME_BYTES} bytes`)
  expect(isQueueName(settings.deadLetterQueue), 'deadLetterQueue', `a name of 1 to ${MOST_NAME_BYTES} bytes`)
  expect(settings.deadLetterQueue !== settings.queue, 'deadLetterQueue', 'another queue than the one consumed')
  const { prefetch } = settings
  expect(
    Number.isSafeInteger(prefetch) && prefetch >= 1 && prefetch <= MOST_PREFETCH,
    'prefetch',
    `a whole number from 1 to ${MOST_PREFETCH}`,
  )
  expect([true, 'check', false].includes(settings.assert), 'assert', "true, 'check' or false")
  expect(['quorum', 'classic'].includes(settings.queueType), 'queueType', "'quorum' or 'classic'")
  expect(settings.lane === undefined || typeof settings.lane === 'function', 'lane', 'a function')
  expect(typeof settings.ackBatch === 'boolean', 'ackBatch', 'true or false')
  expect(typeof settings.singleActiveConsumer === 'boolean', 'singleActiveConsumer', 'true or false')
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `RabbitMQ: ${problem}`))
  return Object.freeze(settings)
}

function isQueueName(name: unknown): boolean {
  return typeof name === 'string' && name !== '' && Buffer.byteLength(name) <= MOST_NAME_BYTES
}
