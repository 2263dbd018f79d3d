/**
 * Waits for `work` inside `eachBatch`, where kafkajs sends heartbeats only if asked to. Resolves with `undefined` when it
 * takes longer than `limitMs`, or when a heartbeat says that the group moves on without us.
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
      return undefined // kafkajs meets the same answer in its own loop, and joins again.
    }
  }
}

function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms).unref())
}
