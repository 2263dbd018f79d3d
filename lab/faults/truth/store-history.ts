import type { End, HistoryEvent } from '../../../testing/history.ts'
import type { CellContext } from '../worker/worker.ts'

/** Records that a store holds, and the events that it wrote. */
export interface StoreHistory {
  readonly events: readonly HistoryEvent[]
  /** By subject. */
  readonly records: End['records']
}

export function subjectOf({ place }: CellContext, id: string): string {
  return `${place.group}:${id}`
}

/** Effects whose rows are committed. */
export async function effectsInPostgres(
  context: CellContext,
  ids: readonly string[],
): Promise<readonly HistoryEvent[]> {
  const effects = await context.stage.postgres.effects(ids)
  return effects.map(({ at, process, id, xid }) => {
    return { at, proc: process, f: 'effect', kind: 'tx', subject: subjectOf(context, id), token: xid }
  })
}
