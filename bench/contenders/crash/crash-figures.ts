import { spreadOf } from '../../statistics.ts'
import type { Effect } from './effects.ts'

export const REPEATED_MOST = 'repeated, most'

export interface Crashed {
  /** In the order in which they happened. */
  readonly effects: readonly Effect[]
  /** Workers 0, 1, 2, ... were killed, the others not. */
  readonly kills: number
  /** Distinct IDs. */
  readonly ids: number
  /** IDs that a dead letter asks a person about. */
  readonly setAside: ReadonlySet<number>
}

/**
 * Cost of the kills. A repeated effect counts for the kill of the worker that had it before.
 * @throws where a message has no effect, and no dead letter either: it is lost
 */
export function crashFigures({ effects, kills, ids, setAside }: Crashed): Readonly<Record<string, number>> {
  const lastWorker = new Map<number, number>()
  const repeated = Array.from({ length: kills }, () => 0)
  let withoutKill = 0
  for (const { id, worker } of effects) {
    const before = lastWorker.get(id)
    lastWorker.set(id, worker)
    if (before === undefined) continue
    const ofKill = repeated[before]
    if (ofKill === undefined || before === worker) withoutKill++
    else repeated[before] = ofKill + 1
  }
  const lost = Array.from({ length: ids }, (_, id) => id).filter((id) => !lastWorker.has(id) && !setAside.has(id))
  if (lost.length > 0) throw new Error(`${lost.length} of ${ids} messages are lost, ${lost[0]} first`)
  const { median, most } = spreadOf(repeated)
  return {
    kills: kills,
    'repeated, median': median,
    [REPEATED_MOST]: most,
    'repeated without a kill': withoutKill,
    'set aside': setAside.size,
  }
}
