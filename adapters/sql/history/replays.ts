import {
  checkReplayState,
  type LedgerEntry,
  type ReplayLedger,
  type ReplayRequest,
  type SaveAnswer,
  type Taking,
  type TakeVerdict,
} from '../../../src/internal.ts'
import type { Script } from '../session.ts'
import type { HistoryStatements, ReplayRow } from './statements.ts'

/** Runs a statement about a scope. Sent again after a conflict, it does what it did: an owner may take and save twice. */
export type AskHistory = <Row>(
  what: string,
  scope: string,
  script: (history: HistoryStatements) => Script<Row>,
) => Promise<readonly Row[]>

export function replayLedger(run: AskHistory): ReplayLedger {
  return {
    async take(scope: string, id: string, how: Taking): Promise<TakeVerdict> {
      checkReplayState(how.state)
      const [row] = await run('take a replay', scope, (history) => history.takeReplay(id, how))
      if (row === undefined) throw new TypeError('no row for a replay that was just created (replays.take)')
      const { owner, left_ms: leftMs, state } = row
      return owner === how.owner ? { verdict: 'taken', state } : { verdict: 'held', leftMs: atLeastZero(leftMs), state }
    },
    async save(scope: string, id: string, how: Taking): Promise<SaveAnswer> {
      checkReplayState(how.state)
      const [row] = await run('save a replay', scope, (history) => history.saveReplay(id, how))
      return row === undefined ? { held: false } : { held: true, request: row.request ?? undefined }
    },
    async leave(scope: string, id: string, owner: string): Promise<void> {
      await run('leave a replay', scope, (history) => history.leaveReplay(id, owner))
    },
    async ask(scope: string, id: string, request: ReplayRequest | undefined): Promise<boolean> {
      return (await run('ask a replay', scope, (history) => history.askReplay(id, request))).length > 0
    },
    async read(scope: string, id: string): Promise<LedgerEntry | undefined> {
      const [row] = await run('read a replay', scope, (history) => history.readReplay(id))
      return row && entryOf(row)
    },
    async list(scope: string, limit: number): Promise<readonly LedgerEntry[]> {
      return (await run('list replays', scope, (history) => history.listReplays(limit))).map(entryOf)
    },
  }
}

function entryOf(row: ReplayRow): LedgerEntry {
  const { id, state, owner, left_ms: leftMs, request } = row
  const heldForMs = owner === null ? 0 : atLeastZero(leftMs)
  const [createdAt, savedAt] = [Number(row.created_at), Number(row.saved_at)]
  return { id, state, createdAt, savedAt, heldForMs, request: request ?? undefined }
}

function atLeastZero(ms: ReplayRow['left_ms']): number {
  return Math.max(0, Number(ms))
}
