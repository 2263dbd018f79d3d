import type { Cell } from '../cell.ts'
import { cellsOfWhole } from './table.ts'

const RETENTION_MS = 6_000

/** F16: the worker dies after the mark, and the redelivery comes after the retention. An inbox keeps its row until the purge. */
export const RETENTION: readonly Cell[] = cellsOfWhole('F16', 'over', '1s / D / k / D', (_, strategy) => ({
  fault: { kind: 'kill', at: 'marked', request: 'arrives', awayMs: RETENTION_MS + 500 },
  tuning: { retentionMs: RETENTION_MS, handlerTimeoutMs: 3_000 },
  ...(strategy === 'inbox' ? {} : { mustReport: 'beyond-retention' }),
}))
