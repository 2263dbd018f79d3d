import { backoffMs, type Backoff } from '../core/backoff.ts'
import { describeError } from '../foundation/errors.ts'
import { systemClock } from '../foundation/clock.ts'
import { systemEntropy } from '../foundation/entropy.ts'
import type { InlineRunning } from './inline.ts'

const AGAIN: Backoff = { initialMs: 100, maxMs: 10_000 }

interface Opening {
  readonly signal: AbortSignal
  readonly report: (event: 'store-not-opened', detail: string) => void
}

/**
 * Opens a consumer inside of a client's own loop, which cannot wait for its store: the store may be down for long, so it
 * is tried again until `signal` aborts. Never rejects. Resolves with whether it is open.
 */
export async function openInline(inline: InlineRunning, { signal, report }: Opening): Promise<boolean> {
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      await inline.open()
      return true
    } catch (error) {
      if (signal.aborted) return false
      report('store-not-opened', `attempt ${attempt}: ${describeError(error)}`)
      await pause(backoffMs(attempt, AGAIN, systemEntropy.fraction()), signal)
    }
  }
  return false
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const goOn = (): void => {
      cancel()
      signal.removeEventListener('abort', goOn)
      resolve()
    }
    const cancel = systemClock.after(ms, goOn)
    signal.addEventListener('abort', goOn)
  })
}
