import { afterEach } from '@jest/globals'
import {
  defineConsumer,
  messageId,
  runInline,
  type ConsumerOptions,
  type InlineOptions,
  type InlineRunning,
  type Message,
  type ObserverEvent,
  type Settlement,
} from '../../../../src/index.ts'
import { memoryStore } from '../../../../src/memory/index.ts'
import { ManualClock } from '../../../kit/manual-clock.ts'
import { scriptedStore, type ScriptedStore } from '../../../kit/scripted-store.ts'

const running: InlineRunning[] = []
const clocks: ManualClock[] = []

afterEach(async () => {
  const stopping = Promise.all(running.splice(0).map((one) => one.stop({ deadlineMs: 0 })))
  await Promise.all(clocks.map((clock) => clock.advance(60_000)))
  await stopping
  const left = clocks.splice(0).reduce((sum, { pending }) => sum + pending, 0)
  if (left > 0) throw new Error(`left behind by a stop: ${left} timers`)
})

export type Options = Partial<ConsumerOptions<unknown, unknown, never>>

export class Bench {
  readonly clock: ManualClock
  readonly store: ScriptedStore<never>
  readonly events: ObserverEvent[] = []
  readonly runs: string[] = []
  readonly inline: InlineRunning

  constructor(
    effect: (id: string) => unknown,
    { options = {}, how = {}, world }: { options?: Options; how?: Partial<InlineOptions>; world?: Bench } = {},
  ) {
    this.clock = world?.clock ?? new ManualClock()
    this.store = world?.store ?? scriptedStore(memoryStore({ clock: this.clock }))
    const consumer = defineConsumer({
      name: 'consumer',
      id: messageId.header('id'),
      store: this.store,
      backoff: { initialMs: 100, maxMs: 1_000 },
      observe: (event) => this.events.push(event),
      handle: ({ message }) => {
        const id = String(message.headers['id'])
        this.runs.push(id)
        return effect(id)
      },
      ...options,
    } as ConsumerOptions<unknown, unknown, never>)
    const entropy = { fraction: () => 0.5, ownerToken: () => `token-${String(++tokens).padStart(6, '0')}` }
    this.inline = runInline(consumer, { group: 'group', clock: this.clock, entropy, ...how })
    running.push(this.inline)
    clocks.push(this.clock)
  }

  handle(message: Message, lane?: string): Promise<Settlement> {
    return this.inline.handle(message, { lane })
  }

  /** Handles message `a`. `answer` is there when that has ended. */
  begin(): { readonly handling: Promise<Settlement>; readonly answer: Settlement | undefined } {
    const begun: { handling: Promise<Settlement>; answer: Settlement | undefined } = {
      handling: this.handle(messageOf('a')).then((settlement) => (begun.answer = settlement)),
      answer: undefined,
    }
    return begun
  }
}

let tokens = 0

export function messageOf(id: string | undefined, payload: unknown = {}, position = '0@0'): Message {
  return {
    system: 'rabbitmq',
    destination: 'queue',
    origin: 'queue',
    position,
    key: null,
    value: Buffer.from(JSON.stringify(payload)),
    headers: id === undefined ? {} : { id },
  }
}

export const HANDLED = { outcome: 'handled', settle: 'ack' }
export const HANDED_BACK = { outcome: 'handed-back', settle: 'retry' }

/** An effect that fails so often for message `a`, then happens. */
export function failingTimes(times: number): (id: string) => void {
  let left = times
  return (id) => {
    if (id === 'a' && left-- > 0) throw new Error('no')
  }
}
