import type { End, HistoryEvent } from '../../../testing/history.ts'
import type { Ground } from '../worker/worker.ts'

/** What a store holds, and what it has written until now. */
export interface ToldByStore {
  readonly events: readonly HistoryEvent[]
  /** By subject. */
  readonly records: End['records']
}

export function subjectOf({ place }: Ground, id: string): string {
  return `${place.group}:${id}`
}

/** Rows that were committed. */
export async function effectsInPostgres(ground: Ground, ids: readonly string[]): Promise<readonly HistoryEvent[]> {
  const effects = await ground.stage.postgres.effects(ids)
  return effects.map(({ at, process, id, xid }) => {
    return { at, proc: process, f: 'effect', kind: 'tx', subject: subjectOf(ground, id), token: xid }
  })
}
