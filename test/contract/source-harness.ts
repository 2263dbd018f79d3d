import { setTimeout as wait } from 'node:timers/promises'
import {
  defineConsumer,
  memoryStore,
  messageId,
  type Consumer,
  type HandlerContext,
  type ObserverEvent,
  type Running,
} from '../../src/index.ts'
import { ScriptedStore } from '../support/scripted-store.ts'

/** A broker with one topic or queue of its own, as the suite for sources needs it. */
export interface SourceHarness extends AsyncDisposable {
  /** Publishes, confirmed, in this order; the text is message ID and payload, and before a `/` its ordering key. */
  publish(texts: readonly string[]): Promise<void>
  run(consumer: Consumer): Promise<Running>
  /**
   * Takes deliveries away from a running consumer and gives them to it again: a rebalance, or a lost connection. Resolves
   * when that is over.
   */
  interrupt(running: Running, consumer: Consumer): Promise<void>
  /** Whether the broker says that everything published is settled; `driven` knows what it was told. */
  isSettled(driven: Driven): Promise<boolean>
  /** Payloads in the dead-letter place, with their reasons. */
  deadLetters(): Promise<readonly { readonly text: string; readonly reason: string }[]>
}

type Handle = (context: HandlerContext<string>) => unknown

/** A consumer whose handler and store the law drives, and what happened to it. */
export class Driven {
  readonly store: ScriptedStore<never> = new ScriptedStore(memoryStore())
  /** Texts in the order their handlers started. */
  readonly started: string[] = []
  readonly effects: string[] = []
  readonly events: ObserverEvent[] = []
  handle: Handle = () => {}

  /** Another process with the same store: give the same `Driven` a second consumer. */
  consumer(): Consumer {
    return defineConsumer({
      name: 'law',
      store: this.store,
      id: messageId.header('message-id'),
      decode: (bytes) => Buffer.from(bytes ?? '').toString(),
      leaseMs: 2_000,
      maxAttempts: 3,
      retry: { initialMs: 20, maxMs: 50 },
      handle: async (context) => {
        this.started.push(context.payload)
        await this.handle(context)
        this.effects.push(context.payload)
      },
      observe: (event) => void this.events.push(event),
    })
  }

  /** What its consumers say that they told the broker. */
  get settled(): number {
    return this.events.reduce((sum, event) => sum + (event.type === 'settles' ? event.count : 0), 0)
  }
}

/** A promise that the law resolves. */
export class Gate {
  open: () => void = () => {}
  readonly opened: Promise<void> = new Promise((resolve) => {
    this.open = resolve
  })
}

/** Brokers cannot all be waited on: asks again until it is so, and fails with what was waited for. */
export async function eventually(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  withinMs = 45_000,
): Promise<void> {
  const giveUpAt = performance.now() + withinMs
  while (!(await isSo())) {
    if (performance.now() > giveUpAt) throw new Error(`not so after ${withinMs / 1000} s: ${what}`)
    await wait(10)
  }
}
