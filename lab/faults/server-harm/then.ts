import type { Moment } from '../cell.ts'
import type { Scene } from '../harm.ts'
import type { Fate } from '../wire/link.ts'

/** What becomes of the worker. `is killed`: in the same moment, so that what it has not settled comes again. */
export interface Then {
  readonly worker: 'stays' | 'is killed'
}

/** Of the bytes of the moment, which would be `fate`: a worker that is killed dies first, and what it was about to settle with it. */
export function fateWith(
  { at, worker: then }: Then & { readonly at: Moment },
  fate: Fate,
  { crew, worker }: Scene,
): Fate {
  if (then === 'stays') return fate
  crew.kill(worker)
  return at === 'settle sent' ? 'lose' : fate
}

/** As a supervisor does. */
export async function replace({ worker: then }: Then, { crew, worker }: Scene): Promise<void> {
  if (then === 'stays') return
  await worker.process.ended
  await crew.start()
}
