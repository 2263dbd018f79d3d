import { channel, tracingChannel, type Channel, type TracingChannel } from 'node:diagnostics_channel'

// Channels for tools that watch any consumer of the process. docs/observability.md says what each message has.

type Steps = TracingChannel<unknown, object>

export const CLAIM: Steps = tracingChannel('consume_once:claim')
export const HANDLE: Steps = tracingChannel('consume_once:handle')
export const MARK: Steps = tracingChannel('consume_once:mark')
export const SETTLE: Steps = tracingChannel('consume_once:settle')
export const REPLAY: Steps = tracingChannel('consume_once:replay')
/** One message for each delivery that has ended: its `delivery` event. */
export const DELIVERY: Channel = channel('consume_once:delivery')

/** Somebody subscribed. `TracingChannel.hasSubscribers` came after Node 20.19. */
export function isWatched({ start, end, asyncStart, asyncEnd, error }: Steps): boolean {
  return (
    start.hasSubscribers ||
    end.hasSubscribers ||
    asyncStart.hasSubscribers ||
    asyncEnd.hasSubscribers ||
    error.hasSubscribers
  )
}

/** @param about - called only if somebody subscribed */
export function watched<T>(steps: Steps, about: () => object, work: () => Promise<T>): Promise<T> {
  return isWatched(steps) ? steps.tracePromise(work, about()) : work()
}
