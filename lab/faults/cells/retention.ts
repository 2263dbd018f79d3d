import type { Cell } from '../cell.ts'
import { cellsOfWhole } from './table.ts'

const RETENTION_MS = 6_000

/** F16: killed when it was marked, and delivered again when the mark is forgotten. An inbox keeps its row until it is purged. */
export const RETENTION: readonly Cell[] = cellsOfWhole('F16', 'over', '1s / D / k / D', (_, strategy) => ({
  fault: { kind: 'kill', at: 'marked', request: 'arrives', awayMs: RETENTION_MS + 500 },
  tuning: { retentionMs: RETENTION_MS, handlerTimeoutMs: 3_000 },
  ...(strategy === 'inbox' ? {} : { mustTell: 'beyond-retention' }),
}))
