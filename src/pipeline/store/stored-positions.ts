import type { ResolvedConsumer } from '../../consumer/resolve-options.ts'
import type { Intake } from '../../ports/source.ts'

/** `watched`: a call that failed shows that the store is down, although no message waits for it. */
export function storedPositionsIn(
  store: ResolvedConsumer['store'],
  scope: string,
  watched: <T>(call: () => Promise<T>) => Promise<T>,
): Intake['storedPositions'] {
  if (store.strategy !== 'offsets') return undefined
  const { positions } = store
  return {
    next: (streams) => watched(() => positions.next(scope, streams)),
    hold: (stream, next, why) => positions.hold(scope, { stream, next }, why),
    prove: (stream, next) => positions.prove(scope, { stream, next }),
  }
}
