import type { DurationMs } from '../core/units.ts'
import { systemClock } from './clock.ts'

/** Rejects with what `late` makes if `work` takes longer. A late result or rejection is ignored. */
export function within<T>(
  ms: DurationMs,
  work: Promise<T>,
  late: () => Error,
  how?: { readonly background: true },
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = systemClock.after(ms, () => reject(late()), how)
    work.then(resolve, reject).finally(cancel)
  })
}
