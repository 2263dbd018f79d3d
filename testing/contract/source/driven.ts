import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../../../src/foundation/clock.ts'
import { defineConsumer, type Consumer } from '../../../src/consumer/define-consumer.ts'
import { StoreError } from '../../../src/foundation/errors.ts'
import { memoryStore } from '../../../src/memory/store.ts'
import { messageId } from '../../../src/identity/message-id.ts'
import type { HandlerContext } from '../../../src/consumer/options.ts'
import type { ObserverEvent } from '../../../src/ports/observer.ts'
import type { LeaseStore } from '../../../src/ports/store.ts'

type Handle = (context: HandlerContext<string>) => unknown

/** A consumer whose handler and store are controlled by the law, and a log of its events. */
export class Driven {
  /** Every call to its store fails, and does nothing. */
  isStoreDown = false
  /** Texts in the order in which their handlers started. */
  readonly started: string[] = []
  readonly effects: string[] = []
  readonly events: ObserverEvent[] = []
  handle: Handle = () => {}
  readonly #store: LeaseStore = whileUp(memoryStore(), () => !this.isStoreDown)

  /** For another process with the same store, call it again on the same `Driven`. */
  consumer(options: { readonly maxInFlight?: number; readonly concurrency?: number } = {}): Consumer {
    return defineConsumer({
      ...options,
      name: 'law',
      store: this.#store,
      id: messageId.header('message-id'),
      decode: (bytes) => Buffer.from(bytes ?? '').toString(),
      leaseMs: 2_000,
      graceMs: 1_000,
      maxAttempts: 3,
      backoff: { initialMs: 20, maxMs: 50 },
      handle: async (context) => {
        this.started.push(context.payload)
        await this.handle(context)
        this.effects.push(context.payload)
      },
      observe: (event) => void this.events.push(event),
    })
  }

  /** Number of settles that its consumers reported. */
  get settled(): number {
    return this.events.reduce((sum, event) => sum + (event.type === 'settles' ? event.count : 0), 0)
  }

  /** True if its consumers have told an event of this type. */
  told(type: ObserverEvent['type']): boolean {
    return this.events.some((event) => event.type === type)
  }
}

/** A law that begins with a consumer of its own. */
export function driving<Harness>(
  run: (harness: Harness, driven: Driven) => Promise<void>,
): (harness: Harness) => Promise<void> {
  return (harness) => run(harness, new Driven())
}

/** A promise that the law resolves. */
export class Gate {
  open: () => void = () => {}
  readonly opened: Promise<void> = new Promise((resolve) => {
    this.open = resolve
  })
}

/** Polls until `isSo()` is true, because brokers cannot signal every state. Fails with `what`. */
export async function eventually(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  withinMs = 45_000,
): Promise<void> {
  const giveUpAt = systemClock.monotonic() + withinMs
  while (!(await isSo())) {
    if (systemClock.monotonic() > giveUpAt) throw new Error(`not so after ${withinMs / 1000} s: ${what}`)
    await wait(10)
  }
}

/** How long `work` took, in milliseconds, at least 10. */
export async function timed(work: () => Promise<void>): Promise<number> {
  const beganAt = systemClock.monotonic()
  await work()
  return Math.max(10, systemClock.monotonic() - beganAt)
}

/**
 * Fails with `what` if `isSo()` is false at any time in this time. It must be one in which the wrong thing happens for sure:
 * take a multiple of what the same source needed before, on the same machine (`timed`).
 */
export async function always(what: string, isSo: () => boolean | Promise<boolean>, forMs: number): Promise<void> {
  const until = systemClock.monotonic() + forMs
  do {
    if (!(await isSo())) throw new Error(`not so: ${what}`)
    await wait(10)
  } while (systemClock.monotonic() < until)
}

function whileUp(store: LeaseStore, isUp: () => boolean): LeaseStore {
  const up = async <T>(call: () => Promise<T>): Promise<T> => {
    if (!isUp()) throw new StoreError('STORE_UNREACHABLE', 'the law has put it down')
    return call()
  }
  return {
    strategy: store.strategy,
    open: () => store.open(),
    claim: (request) => up(() => store.claim(request)),
    renew: (claims, leaseMs) => up(() => store.renew(claims, leaseMs)),
    mark: (claims, results) => up(() => store.mark(claims, results)),
    release: (claims, how) => up(() => store.release(claims, how)),
    setAside: (claims, as, why) => up(() => store.setAside(claims, as, why)),
  }
}
