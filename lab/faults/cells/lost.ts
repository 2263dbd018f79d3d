import type { Cell } from '../cell.ts'
import { cellsOf, type Made } from './table.ts'
import { type Moment, MOMENT_OF, type Step } from '../moment.ts'

/** F3: the connection breaks before the request arrives. */
export const REQUEST_LOST: readonly Cell[] = cellsOf(
  'F3',
  {
    S1: '1 / 1 / 1 / 1',
    // The worker cannot know that the provider never got the request, so it calls again.
    S3: '1 / 1 or B / 1 or B / in doubt',
    S4: '1 / 1 / 1 / 1',
    // A commit is sent again. An ack is not: its channel is gone.
    S6: '1 or 1s / 1 or 1s / 1 or 1s',
  },
  (step) => ({ fault: { kind: 'lose', at: step === 'S3' ? 'effect sent' : MOMENT_OF[step] } }),
)

const ANSWERS: Partial<Readonly<Record<Step, Moment>>> = {
  S1: 'claimed',
  S3: 'effect applied',
  S4: 'marked',
  S6: 'settled',
}

/** F4: the server acts on the request, and the connection breaks before the answer arrives. */
export const REPLY_LOST: readonly Cell[] = cellsOf(
  'F4',
  {
    // The same owner token: the claim is already its own.
    S1: '1 / 1 / 1 / 1',
    S3: '1 / D / k / in doubt',
    // An inbox finds the row when it claims again.
    S4: '1 or 1s / 1 / 1 / 1',
    S6: '1 or 1s / 1 or 1s / 1 or 1s',
  },
  (step, broker): Made | undefined => {
    const at = ANSWERS[step]
    // RabbitMQ does not answer acks.
    return at === undefined || (at === 'settled' && broker === 'rabbitmq') ? undefined : { fault: { kind: 'lose', at } }
  },
)

/** F5: the connection carries nothing, without an error. Each call ends by its own timeout. */
export const BLACK_HOLE: readonly Cell[] = cellsOf(
  'F5',
  {
    S1: '1 / 1 / 1 / 1',
    S3: '1 / 1 or B / 1 or B / in doubt',
    S4: '1 or 1s / 1 / 1 / 1',
    S6: '1s / 1s / 1s',
  },
  (step) => ({ fault: { kind: 'swallow', at: step === 'S3' ? 'effect sent' : MOMENT_OF[step] } }),
)
