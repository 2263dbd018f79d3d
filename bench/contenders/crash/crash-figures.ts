import type { Effect } from './effects.ts'

export const REPEATED = 'repeated'
/** The worker that is killed. Those after it are not. */
export const KILLED = 0

export interface Crashed {
  /** In the order in which they happened. */
  readonly effects: readonly Effect[]
  /** Distinct IDs. */
  readonly ids: number
  /** IDs that a dead letter asks a person about. */
  readonly setAside: ReadonlySet<number>
}

/**
 * Cost of a kill: effects that the killed worker had, and another worker again.
 * @throws where a message has no effect, and no dead letter either: it is lost
 */
export function crashFigures({ effects, ids, setAside }: Crashed): Readonly<Record<string, number>> {
  const lastWorker = new Map<number, number>()
  let repeated = 0
  let withoutKill = 0
  for (const { id, worker } of effects) {
    const before = lastWorker.get(id)
    lastWorker.set(id, worker)
    if (before === undefined) continue
    if (before === KILLED && worker !== KILLED) repeated++
    else withoutKill++
  }
  const lost = Array.from({ length: ids }, (_, id) => id).filter((id) => !lastWorker.has(id) && !setAside.has(id))
  if (lost.length > 0) throw new Error(`${lost.length} of ${ids} messages are lost, ${lost[0]} first`)
  return { [REPEATED]: repeated, 'repeated without a kill': withoutKill, 'set aside': setAside.size }
}
