import type { Consumer, Running } from '../../src/index.ts'
import type { Carrier } from './entry.ts'
import type { Sending } from './plan.ts'

/** A dead letter as it lies in its place. */
export interface FoundDeadLetter {
  /** `undefined`: nothing of it says which message it was. */
  readonly number: number | undefined
  readonly reason: string | undefined
  readonly value: Buffer | null
  /** Sends it back to where it came from, as it is. */
  readonly moveBack: () => Promise<void>
}

/** A broker with one topic or queue, a consumer on it, and a dead-letter place. */
export interface Stage extends AsyncDisposable {
  readonly carrier: Carrier
  start(consumer: Consumer): Promise<Running>
  send(sendings: readonly Sending[]): Promise<void>
  /** All that was dead-lettered so far. */
  deadLetters(): Promise<readonly FoundDeadLetter[]>
  /** Resolves when the broker says that nothing is left to be delivered; rejects if that does not come. */
  untilDrained(): Promise<void>
}
