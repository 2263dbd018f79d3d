import type { ResolvedConsumer } from '../../src/consumer/resolve-options.ts'
import { countedText } from '../../src/core/counted-text.ts'
import type { Effects } from './effects.ts'
import type { Scenario } from './scenarios.ts'
import type { Stage, Staged } from './stage.ts'
import { NO_SUCH_FIELD } from './undefined-given.ts'
import { isOfNoMessage, keyShown } from './unusable-key.ts'

/** What has happened in a scenario. */
export interface Played {
  readonly seen: Effects
  readonly stage: Stage
}

const THE_KEY = 'The key for a provider is ctx.idempotencyKey'
const LACKING = `\`undefined\`: ${NO_SUCH_FIELD}`

/** What the test could not tell, or would not see. @throws Error */
export function judgeOnce(once: Played, { messages }: Staged): void {
  const { seen, stage } = once
  judgeGiven(undefined, once, messages)
  const dead = whyDead(stage)
  if (dead !== undefined) throw failure(undefined, dead)
  if (seen.total === 0) {
    throw failure(
      undefined,
      'no effect was seen: write through tx, or name in `effects` where a provider keeps what it did',
    )
  }
  const textAt = (number: number): string => Buffer.from(messages[number]?.value ?? '').toString('utf8')
  const textOf = (key: string): string => textAt(stage.handled.get(key) ?? -1)
  const refused = (text: string, why: string): Error => failure(undefined, `message ${text}: ${why}`)
  for (const [key, of] of seen.keys.first) {
    if (isOfNoMessage(key, textOf(of))) {
      const shown = keyShown(key)
      const kept = `its effect was kept under the key ${shown}, which other messages would share: expected one of its own`
      throw refused(textOf(of), [kept, THE_KEY, ...(shown.includes('undefined') ? [LACKING] : [])].join('. '))
    }
  }
  for (const { of, with: other, key, isWritten } of seen.keys.shared) {
    if (!isWritten && seen.under([of]).length > 0) continue
    const kept = `its effect was kept under the key ${keyShown(key)}, as was that of message ${textOf(other)}`
    throw refused(textOf(of), `${kept}: a provider takes it for a repeat, and does nothing. ${THE_KEY}`)
  }
  for (const [at, message] of messages.entries()) {
    const number = stage.numberOf(message)
    const keys = keysOf(stage, number)
    if (keys.length === 0) throw refused(textAt(at), 'it was not handled: another of `messages` has its ID')
    if (seen.under(keys).length > 0 || stage.skipped.has(number)) continue
    const advice =
      `Did a provider take it for another one? ${THE_KEY}. A key of ${LACKING}. Does it keep what it did elsewhere? Name that in \`effects\`. ` +
      'Shall it have no effect? return ctx.skip(reason), or leave it out of `messages`'
    throw refused(textAt(at), `no effect was seen. ${advice}`)
  }
}

/** Whether each message had its effect as often as when it came once. @throws Error */
export function judge(scenario: Scenario, once: Played, played: Played, { definition, messages }: Staged): void {
  judgeGiven(scenario, played, messages)
  const known = once.stage.handled
  const { deadLetters } = played.stage.broker
  for (const [at, message] of messages.entries()) {
    const number = played.stage.numberOf(message)
    if (number !== at) continue
    const text = `message ${Buffer.from(message.value ?? '').toString('utf8')}`
    const keys = keysOf(played.stage, number)
    if (keys.some((key) => !known.has(key))) throw failure(scenario, `${text}: ${ANOTHER_ID}`)
    const [wanted, happened] = [once.seen.under(keysOf(once.stage, number)).length, played.seen.under(keys)]
    const got = happened.length
    // Set aside for a person: then the effect may be missing, and never there twice.
    const isParked = deadLetters.some(({ parked }) => parked)
    if (got === wanted || (got < wanted && isParked)) continue
    const what = `${text}: expected ${countedText(wanted, 'effect')}, got ${got} (${happened.join(', ') || 'nothing'})`
    const why = got > wanted ? adviceOn(scenario, definition) : (whyDead(played.stage) ?? 'The effect was lost')
    throw failure(scenario, `${what}. ${why}`)
  }
}

/** Whether a value that a handler gave is missing. It comes first: other failures may follow from it. */
function judgeGiven(scenario: Scenario | undefined, { seen, stage }: Played, messages: Staged['messages']): void {
  const [first] = seen.refused
  if (first === undefined) return
  const { value } = messages[stage.handled.get(first.of) ?? -1] ?? {}
  throw failure(scenario, `message ${Buffer.from(value ?? '').toString('utf8')}: ${first.why}`)
}

const ANOTHER_ID =
  'the same message got another ID when it came again, so it ran as a new one. Take the ID from what its producer sends ' +
  'unchanged each time, such as a field of the payload: not from chance, the time or an offset'

function keysOf({ handled }: Stage, number: number): readonly string[] {
  return [...handled].flatMap(([key, of]) => (of === number ? [key] : []))
}

function adviceOn(scenario: Scenario, { store }: ResolvedConsumer): string {
  if (scenario === 'out of order')
    return "If order matters, give the messages one key, and leave it out: without: ['out of order']"
  return store.strategy === 'lease'
    ? "A process that dies after the effect runs the message again: give ctx.idempotencyKey to the provider, or set onInDoubt: 'park'"
    : 'Only what is written through tx is rolled back with a message: write it through tx, or give ctx.idempotencyKey to the provider'
}

export function whyDead({ broker }: Stage): string | undefined {
  const [letter] = broker.deadLetters
  return letter && `a message was dead-lettered: ${letter.reason}: ${letter.detail}`
}

export function failure(scenario: Scenario | undefined, why: string, options?: ErrorOptions): Error {
  return new Error(`testConsumer: ${scenario ?? 'delivered once'}: ${why}`, options)
}
