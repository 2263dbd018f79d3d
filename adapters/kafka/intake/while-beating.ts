/**
 * Waits for `work` inside `eachBatch`, where kafkajs sends heartbeats only on request. Resolves with `undefined` when
 * `work` takes longer than `limitMs`, or when a heartbeat fails because the group rebalances.
 */
export async function whileBeating<T>(
  work: Promise<T>,
  {
    heartbeat,
    everyMs,
    limitMs,
  }: { readonly heartbeat: () => Promise<void>; readonly everyMs: number; readonly limitMs: number },
): Promise<T | undefined> {
  const deadline = performance.now() + limitMs
  const ended = work.then(
    (value) => ({ value }),
    () => ({ value: undefined }),
  )
  for (;;) {
    const outcome = await Promise.race([ended, pause(everyMs)])
    if (outcome !== undefined) return outcome.value
    if (performance.now() > deadline) return undefined
    try {
      await heartbeat()
    } catch {
      return undefined // kafkajs gets the same answer in its own loop, and rejoins.
    }
  }
}

function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms).unref())
}
