import { HOLDS, REACHED, violates, type Cell, type Defines, type Expectation, type Search } from '../cell.ts'

const FAIR: Defines = { ASK_L1: 1 }

/** Messages with several keys that cross. */
export const SEVERAL_KEYS: readonly Cell[] = [
  cell('ring', 'messages that share keys in a ring: one effect, no deadlock', HOLDS, {}, 'full'),
  cell('chain', 'a duplicate links what shares no key: nothing runs after it is settled', HOLDS, { CHAIN: 1 }, 'full'),
  cell('ring-ends', 'all are settled at last', HOLDS, FAIR, 'fair'),
  cell('chain-ends', 'all are settled at last', HOLDS, { ...FAIR, CHAIN: 1 }, 'fair'),
  cell('partial', 'one granted key is enough to run', violates('A2'), { PARTIAL: 1 }),
  cell('forgets', 'a duplicate does not mark its other keys', violates('LINKED'), { FORGETS: 1, CHAIN: 1 }),
  cell('keeps', 'granted keys are kept while another is busy', violates('no deadlock'), { KEEPS: 1, BYKEY: 1 }),
  cell('by-key', 'one call for each key: all may give back for ever', violates('L1'), { ...FAIR, BYKEY: 1 }, 'fair'),
  cell('reach-given-back', 'keys are given back', REACHED, { REACH: 'GIVEN_BACK' }),
  cell('reach-linked', 'a duplicate marks a key', REACHED, { REACH: 'LINKED_LATE', CHAIN: 1 }),
]

function cell(what: string, shows: string, expect: Expectation, defines: Defines, search: Search = 'shortest'): Cell {
  return { name: `several-keys-${what}`, model: 'several-keys', shows, defines, expect, search, quick: what === 'ring' }
}
