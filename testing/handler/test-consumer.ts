import { definitionOf, defineConsumer, type Consumer } from '../../src/consumer/define-consumer.ts'
import { json } from '../../src/consumer/decode.ts'
import type { HandlerContext } from '../../src/consumer/options.ts'
import { func, listOf, needed, object, oneOf, optionsOf, or, where, type Table } from '../../src/foundation/options.ts'
import { MemoryInbox } from '../stores/memory-inbox.ts'
import { MemoryOutbox, type Published } from '../stores/memory-outbox.ts'
import { Effects, type Collected } from './effects.ts'
import { inPeace, SCENARIOS, type Scenario } from './scenarios.ts'
import { Stage } from './stage.ts'
import { TEST_MESSAGE, testMessage, type TestMessage } from './test-message.ts'
import type { TxCall } from './tx-call.ts'
import { failure, judge, judgeOnce, whyDead, type Played } from './verdict.ts'

export interface TestConsumerOptions {
  /** At least one. Two or more also run in another order. */
  readonly messages: readonly TestMessage[]
  /**
   * Where your stand-in for a provider keeps what it did. It is cleared before each scenario, and each thing that is added
   * counts as an effect. A provider that takes an idempotency key is a Map by that key: the second call adds nothing. A key
   * of a Map or Set that is of no message (`undefined`, empty) is refused, and one that two messages share.
   * @defaultValue none: effects are the calls of `tx` that are committed
   */
  readonly effects?: Collected
  /**
   * What a call of `tx` answers: the rows of a SELECT that the handler reads, in the shape of your client.
   * @defaultValue no row, and one row changed, in the shapes of pg and of mysql2
   */
  readonly answers?: (call: TxCall) => unknown
  /** Scenarios that the consumer does not promise. @defaultValue none */
  readonly without?: readonly Scenario[]
}

export interface TestReport {
  /** What the handler published for the messages, in their order, each delivered once. In every scenario it counts as an effect. */
  readonly published: readonly Published[]
}

const NAMES = Object.keys(SCENARIOS) as readonly Scenario[]
const OPTIONS: Table<TestConsumerOptions, 'effects' | 'answers'> = {
  messages: needed(listOf<TestMessage>(object(TEST_MESSAGE), { least: 1 })),
  effects: where(
    'an array, a Map or a Set',
    (value) => Array.isArray(value) || value instanceof Map || value instanceof Set,
  ),
  answers: func(),
  without: or([], listOf<Scenario>(oneOf(...NAMES))),
}

/**
 * Runs a consumer, or a handler alone, through what a broker and a crash do to a message, and rejects unless each message had
 * its effect as often as when it came once. Everything of the consumer is used, such as its ID and its `onInDoubt`, except
 * its store: that is one in memory of the same strategy. It needs no server, and time is virtual: a lease ends at once.
 *
 * @param tested - a handler alone gets JSON payloads and the `tx` of an inbox, and its messages need an `id`
 * @returns what the handler has published
 * @throws (rejects) ConfigError `CONFIG_INVALID`
 * @throws (rejects) Error with the scenario, the message, and what to change: an effect happened again, was lost, or is not
 * seen at all; messages share a key or an ID; a message that comes again has another ID; a value of a statement, or the key,
 * order, ID or a header of what is published is `undefined`
 */
export async function testConsumer<Payload = unknown, Tx = never>(
  tested: Consumer | ((context: HandlerContext<Payload, Tx>) => unknown),
  options: TestConsumerOptions,
): Promise<TestReport> {
  const { messages, effects, answers, without } = optionsOf('testConsumer', OPTIONS, options)
  const consumer = typeof tested === 'function' ? consumerOf(tested) : tested
  const built = messages.map((message) => testMessage(message))
  const staged = { consumer, definition: definitionOf(consumer), messages: built }
  const play = async (scenario: Scenario | undefined): Promise<Played> => {
    const seen = new Effects(effects, answers)
    const stage = new Stage(staged, seen)
    try {
      await (scenario === undefined ? inPeace : SCENARIOS[scenario])(stage, built)
    } catch (cause) {
      throw failure(scenario, whyDead(stage) ?? 'the consumer did not come to an end', { cause })
    } finally {
      seen.keys.end()
    }
    return { seen, stage }
  }
  const once = await play(undefined)
  judgeOnce(once, staged)
  for (const scenario of NAMES) {
    if (without.includes(scenario) || (scenario === 'out of order' && built.length === 1)) continue
    judge(scenario, once, await play(scenario), staged)
  }
  return { published: publishedIn(once) }
}

/** A message that was tried again has committed later. */
function publishedIn({ seen, stage }: Played): readonly Published[] {
  const numberOf = ({ by }: Published): number => stage.handled.get(by) ?? 0
  return seen.outbox.published.toSorted((one, other) => numberOf(one) - numberOf(other))
}

function consumerOf<Payload, Tx>(handle: (context: HandlerContext<Payload, Tx>) => unknown): Consumer {
  return defineConsumer<Payload, Payload, Tx>({
    name: 'handler',
    decode: json<Payload>(),
    store: new MemoryInbox<Tx>({ lendAs: (memory) => memory as Tx, outbox: new MemoryOutbox() }),
    handle,
  })
}
