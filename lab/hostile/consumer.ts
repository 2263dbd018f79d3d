import { defineConsumer, type Consumer, type IdExtractor, type Message } from '../../src/index.ts'
import { effectNamed } from './effects.ts'
import { extractorNamed } from './extractors.ts'
import type { Ledger } from './ledger.ts'
import type { Sending } from './plan.ts'
import type { OpenedStore } from './stores.ts'

interface HostileOptions {
  readonly opened: OpenedStore
  readonly handler: 'handle' | 'handleBatch'
}

/** The consumer of a run: finds the ID of each message as its entry says, and does to it what its entry says. */
export function hostileConsumer(
  plan: readonly Sending[],
  ledger: Ledger,
  { opened: { store, write }, handler }: HostileOptions,
): Consumer {
  const entryOf = (message: Message): Sending['entry'] => plan[ledger.numberOf(message)]?.entry
  const id: IdExtractor = (message) => extractorNamed(entryOf(message)?.id ?? 'header')(message)

  async function run(message: Message, attempt: number, tx: unknown): Promise<void> {
    effectNamed(entryOf(message)?.effect ?? 'apply')(attempt)
    const number = ledger.numberOf(message)
    if (write !== undefined) await write(tx, String(number))
    ledger.effect(number)
  }

  const settings = {
    name: 'hostile',
    store,
    maxAttempts: 2,
    // Most of the corpus ends as a dead letter, one after the other.
    hold: false,
    backoff: { initialMs: 1, maxMs: 1 },
    observe: ledger.observe,
    ...(store.strategy === 'offsets' ? {} : { id }),
  }
  if (handler === 'handle') {
    return defineConsumer<unknown, unknown, unknown>({
      ...settings,
      handle: ({ message, attempt, tx }) => run(message, attempt, tx),
    })
  }
  return defineConsumer<unknown, unknown, unknown>({
    ...settings,
    handleBatch: async ({ messages, tx }) => {
      for (const { message, attempt } of messages) await run(message, attempt, tx)
    },
  })
}
