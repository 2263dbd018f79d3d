import type { Cell } from './cell.ts'
import { BATCHES } from './cells/batches.ts'
import { ONE_MESSAGE } from './cells/one-message.ts'
import { SEQUENCES } from './cells/sequences.ts'
import { SEVERAL_KEYS } from './cells/several-keys.ts'
import { STREAMS } from './cells/stream.ts'

/** Every cell, model by model. */
export const CELLS: readonly Cell[] = [...ONE_MESSAGE, ...STREAMS, ...BATCHES, ...SEVERAL_KEYS, ...SEQUENCES]
