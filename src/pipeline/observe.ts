import { SILENT, type ResolvedConsumer } from '../resolve-options.ts'
import type { Observer, ObserverEvent } from '../ports/observer.ts'
import { logEvent } from './log-event.ts'
import { loggedError } from './logged-error.ts'

/** Tells the consumer's log and observer. What throws there is the user's own: it must not leave a message half ended. */
export function observerOf({ log, name, observe }: ResolvedConsumer): Observer {
  function logObserverError(error: unknown, event: ObserverEvent): void {
    try {
      const about = 'message' in event ? event.message : undefined
      log.error({ consumer: name, err: loggedError(error, about) }, 'the observer threw')
    } catch {
      // There is nobody left to tell.
    }
  }

  return (event) => {
    if (log !== SILENT) {
      try {
        logEvent(log, name, event)
      } catch {
        // There is nobody left to tell.
      }
    }
    try {
      observe(event)
    } catch (error) {
      logObserverError(error, event)
    }
  }
}
