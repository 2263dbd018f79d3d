import { afterEach } from '@jest/globals'

/** What a test puts in here is called after it, the last first. */
export function closedAfterEach(): (() => unknown)[] {
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close()
  })
  return closing
}

/** What a test puts in here is stopped after it, all at once. */
export function stoppedAfterEach<T extends { stop(options?: { readonly deadlineMs?: number }): Promise<unknown> }>(
  options: { readonly deadlineMs?: number } = {},
): T[] {
  const started: T[] = []
  afterEach(async () => {
    await Promise.all(started.splice(0).map((one) => one.stop(options)))
  })
  return started
}
