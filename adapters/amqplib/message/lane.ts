import { atOnce, describeError, type Message } from '../../../src/internal.ts'

type LaneOf = (message: Message) => string | undefined

const LANE_AT_ONCE = 'read the lane from the message. This message has none'

/** What the option `lane` returns. If it throws or returns a promise, that is told, and the message has no lane. */
export function laneFrom(
  laneOf: LaneOf | undefined,
  message: Message,
  events: { report(event: 'lane-failed', detail: string): void },
): string | undefined {
  try {
    return atOnce('lane', laneOf?.(message), LANE_AT_ONCE)
  } catch (error) {
    events.report('lane-failed', `${message.position}: ${describeError(error)}`)
    return undefined
  }
}
