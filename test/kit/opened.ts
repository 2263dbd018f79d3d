import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals'
import { SERVER_WITHIN_MS } from './servers/server.ts'

/** Opens what tests share before the first of them, and disposes of it after the last. */
export function openedOnce<T extends AsyncDisposable>(shared: { open(): Promise<T> }, use: (opened: T) => void): void {
  let opened: T | undefined
  beforeAll(async () => {
    opened = await shared.open()
    use(opened)
  }, SERVER_WITHIN_MS)
  afterAll(async () => opened?.[Symbol.asyncDispose]())
}

interface Closing {
  close(): Promise<void>
}

/** Opens something anew before each test, and closes it afterwards. */
export function openedForEach<T extends Closing>(open: () => Promise<T>, use: (opened: T) => void): void {
  let opened: T | undefined
  beforeEach(async () => {
    opened = await open()
    use(opened)
  })
  afterEach(() => opened?.close())
}
