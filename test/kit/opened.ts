import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals'
import { SERVER_WITHIN_MS } from './servers/server.ts'

/** What ends by one of these, or a function that ends something. */
type Ending =
  | AsyncDisposable
  | Disposable
  | { stop(): unknown }
  | { close(): unknown }
  | { disconnect(): unknown }
  | (() => unknown)

/** Takes what was opened, and gives it back. It ends after the tests, the last first; so does what an open left behind that failed. */
type Own = <T extends Ending>(opened: T) => T

type Open = (own: Own) => unknown

/** Opens what tests share before the first of them. */
export function beforeAllOpen(open: Open, withinMs: number = SERVER_WITHIN_MS): void {
  const { opening, end } = owning(open)
  beforeAll(opening, withinMs)
  afterAll(end, withinMs)
}

/** Opens something anew before each test. */
export function beforeEachOpen(open: Open, withinMs: number = SERVER_WITHIN_MS): void {
  const { opening, end } = owning(open)
  beforeEach(opening, withinMs)
  afterEach(end, withinMs)
}

function owning(open: Open): { readonly opening: () => Promise<void>; readonly end: () => Promise<void> } {
  const owned: Ending[] = []
  const own: Own = (opened) => {
    owned.push(opened)
    return opened
  }
  return {
    opening: async () => void (await open(own)),
    end: async () => {
      for (const opened of owned.splice(0).toReversed()) await endOf(opened)
    },
  }
}

function endOf(opened: Ending): unknown {
  if (typeof opened === 'function') return opened()
  if (Symbol.asyncDispose in opened) return opened[Symbol.asyncDispose]()
  if (Symbol.dispose in opened) return opened[Symbol.dispose]()
  if ('stop' in opened) return opened.stop()
  return 'close' in opened ? opened.close() : opened.disconnect()
}

/** Opens what tests share before the first of them, and disposes of it after the last. */
export function openedOnce<T extends AsyncDisposable>(shared: { open(): Promise<T> }, use: (opened: T) => void): void {
  beforeAllOpen(async (own) => use(own(await shared.open())))
}

interface Closing {
  close(): Promise<void>
}

/** Opens something anew before each test, and closes it afterwards. */
export function openedForEach<T extends Closing>(open: () => Promise<T>, use: (opened: T) => void): void {
  beforeEachOpen(async (own) => use(own(await open())))
}
