import { definitionOf, defineConsumer, type Consumer } from '../../src/consumer/define-consumer.ts'
import { countedText } from '../../src/core/counted-text.ts'
import { json } from '../../src/consumer/decode.ts'
import type { HandlerContext } from '../../src/consumer/options.ts'
import type { ResolvedConsumer } from '../../src/consumer/resolve-options.ts'
import { func, listOf, needed, object, oneOf, optionsOf, or, where, type Table } from '../../src/foundation/options.ts'
import type { Message } from '../../src/ports/message.ts'
import { MemoryInbox } from '../stores/memory-inbox.ts'
import { Effects, type Collected, type TxCall } from './effects.ts'
import { inPeace, SCENARIOS, type Scenario } from './scenarios.ts'
import { Stage } from './stage.ts'
import { TEST_MESSAGE, testMessage, type TestMessage } from './test-message.ts'

export interface TestConsumerOptions {
  /** At least one. Two or more also run in another order. */
  readonly messages: readonly TestMessage[]
  /**
   * Where your stand-in for a provider keeps what it did. It is cleared before each scenario, and each thing that is added
   * counts as an effect. A provider that takes an idempotency key is a Map by that key: the second call adds nothing.
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
 * @throws (rejects) ConfigError `CONFIG_INVALID`
 * @throws (rejects) Error with the scenario, the message, and what to change: an effect happened again, was lost, or is not
 * seen at all
 */
export async function testConsumer<Payload = unknown, Tx = never>(
  tested: Consumer | ((context: HandlerContext<Payload, Tx>) => unknown),
  options: TestConsumerOptions,
): Promise<void> {
  const { messages, effects, answers, without } = optionsOf('testConsumer', OPTIONS, options)
  const consumer = typeof tested === 'function' ? consumerOf(tested) : tested
  const definition = definitionOf(consumer)
  const built = messages.map((message) => testMessage(message))
  const play = async (scenario: Scenario | undefined): Promise<Played> => {
    const seen = new Effects(effects, answers)
    const stage = new Stage(consumer, definition, seen)
    try {
      await (scenario === undefined ? inPeace : SCENARIOS[scenario])(stage, built)
    } catch (cause) {
      throw failure(scenario, whyDead(stage) ?? 'the consumer did not come to an end', { cause })
    }
    return { seen, stage }
  }
  const once = await play(undefined)
  const dead = whyDead(once.stage)
  if (dead !== undefined) throw failure(undefined, dead)
  if (once.seen.total === 0) {
    throw failure(
      undefined,
      'no effect was seen: write through tx, or name in `effects` where a provider keeps what it did',
    )
  }
  for (const scenario of NAMES) {
    if (without.includes(scenario) || (scenario === 'out of order' && built.length === 1)) continue
    judge(scenario, once, await play(scenario), definition, built)
  }
}

interface Played {
  readonly seen: Effects
  readonly stage: Stage
}

function judge(
  scenario: Scenario,
  once: Played,
  played: Played,
  definition: ResolvedConsumer,
  messages: readonly Message[],
): void {
  const keys = [...once.stage.handled]
  const [expected, counts] = [once.seen.counts(), played.seen.counts()]
  for (const [at, key] of keys.entries()) {
    const [wanted, got] = [expected.get(key) ?? 0, counts.get(key) ?? 0]
    // Set aside for a person: then the effect may be missing, and never there twice.
    const isParked = played.stage.broker.deadLetters.some(({ parked }) => parked)
    if (got === wanted || (got < wanted && isParked)) continue
    const message = Buffer.from(messages[at]?.value ?? '').toString('utf8')
    const what = `message ${message}: expected ${countedText(wanted, 'effect')}, got ${got} (${played.seen.describe(key)})`
    const dead = whyDead(played.stage)
    throw failure(
      scenario,
      `${what}. ${got > wanted ? adviceOn(scenario, definition) : (dead ?? 'The effect was lost')}`,
    )
  }
}

function adviceOn(scenario: Scenario, { store }: ResolvedConsumer): string {
  if (scenario === 'out of order')
    return "If order matters, give the messages one key, and leave it out: without: ['out of order']"
  return store.strategy === 'lease'
    ? "A process that dies after the effect runs the message again: give ctx.idempotencyKey to the provider, or set onInDoubt: 'park'"
    : 'Only what is written through tx is rolled back with a message: write it through tx, or give ctx.idempotencyKey to the provider'
}

function whyDead({ broker }: Stage): string | undefined {
  const [letter] = broker.deadLetters
  return letter && `a message was dead-lettered: ${letter.reason}: ${letter.detail}`
}

function failure(scenario: Scenario | undefined, why: string, options?: ErrorOptions): Error {
  return new Error(`testConsumer: ${scenario ?? 'delivered once'}: ${why}`, options)
}

function consumerOf<Payload, Tx>(handle: (context: HandlerContext<Payload, Tx>) => unknown): Consumer {
  return defineConsumer<Payload, Payload, Tx>({
    name: 'handler',
    decode: json<Payload>(),
    store: new MemoryInbox<Tx>({ lendAs: (memory) => memory as Tx }),
    handle,
  })
}
