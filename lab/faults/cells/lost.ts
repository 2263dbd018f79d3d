import type { Cell } from '../cell.ts'
import { cellsOf, type Made } from './table.ts'
import { type Moment, MOMENT_OF, type Step } from '../moment.ts'

/** F3: the connection is lost before the request arrives. */
export const REQUEST_LOST: readonly Cell[] = cellsOf(
  'F3',
  {
    S1: '1 / 1 / 1 / 1',
    // Nobody knows that the provider never heard of it: it is called again.
    S3: '1 / 1 or B / 1 or B / in doubt',
    S4: '1 / 1 / 1 / 1',
    // A commit is sent again; an ack is not, its channel is gone.
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

/** F4: the server acts on the request, and the connection is lost with its answer. */
export const REPLY_LOST: readonly Cell[] = cellsOf(
  'F4',
  {
    // The same token: already its own.
    S1: '1 / 1 / 1 / 1',
    S3: '1 / D / k / in doubt',
    // An inbox finds the row when it claims again.
    S4: '1 or 1s / 1 / 1 / 1',
    S6: '1 or 1s / 1 or 1s / 1 or 1s',
  },
  (step, broker): Made | undefined => {
    const at = ANSWERS[step]
    // RabbitMQ answers no ack.
    return at === undefined || (at === 'settled' && broker === 'rabbitmq') ? undefined : { fault: { kind: 'lose', at } }
  },
)

/** F5: nothing comes through any more, and nothing says so: each call ends by its own time limit. */
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
