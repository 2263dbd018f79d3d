import { HOLDS, REACHED, violates, type Cell, type Defines, type Expectation, type Search } from '../cell.ts'

const DUPLICATE: Defines = { DUPLICATE: 1 }
const CALM: Defines = { CRASHES: 0, EXPIRIES: 0 }
/** A late mark of an old handler would undo the decision: a known limit of every store. */
const FORGETS: Defines = { FORGETS: 1, EXPIRIES: 0 }
/** Two numbers are enough for what concerns one of them, and what comes after it. */
const TWO: Defines = { N: 2 }

/** A source of numbered messages, and their records. Laws A1, A10, RUNS are asked of every cell. */
export const SEQUENCES: readonly Cell[] = [
  cell('park', 'what is done runs no more, a gap is no duplicate, nothing is lost', HOLDS, {}, 'reduced'),
  cell('tail', 'the same where the newest number keeps its record', HOLDS, { TAIL: 1 }, 'reduced'),
  cell('duplicate', 'the same where what is behind is settled', HOLDS, DUPLICATE, 'reduced'),
  cell('full', 'the same without reduction', HOLDS, { ...TWO, ...DUPLICATE, REDELIVERIES: 2 }, 'full'),
  cell('two-crashes', 'the same with two crashes', HOLDS, { ...TWO, CRASHES: 2, REDELIVERIES: 2 }, 'reduced'),
  cell('three-workers', 'the same with three processes', HOLDS, { ...TWO, WORKERS: 3 }, 'reduced'),
  cell('failures', 'the same where handlers fail', HOLDS, { ...TWO, FAILS: 2, ...DUPLICATE }, 'reduced'),
  cell('overflow', 'more gaps than may be kept: parked, never dropped', HOLDS, { MAXGAPS: 0, ...DUPLICATE }, 'reduced'),
  cell('reset', 'a second sender with the same name: never dropped', HOLDS, { ...TWO, RESETS: 1 }, 'reduced'),
  cell('forget', 'a person lets a number run: never dropped', HOLDS, { ...TWO, ...DUPLICATE, ...FORGETS }, 'reduced'),
  cell('size', 'only the tail keeps records', HOLDS, { ...CALM, ASK_SIZE: 1, REDELIVERIES: 2 }, 'reduced'),

  cell('source-first', 'the source is asked before the records', violates('RUNS'), { ...TWO, SOURCEFIRST: 1 }),
  cell('unasked', 'a grant does not ask the source', violates('RUNS'), { ...TWO, UNASKED: 1 }),
  cell('no-swap', 'a source is written whatever is there', violates('RUNS'), { NOCAS: 1 }),
  cell('remove-first', 'records are removed before the source knows', violates('RUNS'), { ...TWO, REMOVEFIRST: 1 }),
  cell('unremoved', 'a late number keeps its record', violates('SIZE'), { ...CALM, ASK_SIZE: 1, UNREMOVED: 1 }),
  cell('blind-remove', 'records that are not done are removed too', violates('A10'), {
    ...TWO,
    ...DUPLICATE,
    ...FORGETS,
    BLINDREMOVE: 1,
  }),
  cell('gap-done', 'a gap is taken for done', violates('A10'), { ...TWO, ...DUPLICATE, GAPDONE: 1 }),
  cell('forgotten-done', 'a forgotten number is taken for done', violates('A10'), {
    ...DUPLICATE,
    MAXGAPS: 0,
    FORGOTTENDONE: 1,
  }),
  cell('over-settled', 'a run that a person asked for is settled unseen', violates('A10'), {
    ...TWO,
    ...DUPLICATE,
    ...FORGETS,
    OVERSETTLED: 1,
  }),
  cell('reset-duplicate', "a second sender under onBehind 'duplicate': a known limit", violates('A10'), {
    ...TWO,
    ...DUPLICATE,
    RESETS: 1,
  }),

  cell('reach-refused', 'a swap is refused', REACHED, { ...TWO, REACH: 'REFUSED' }),
  cell('reach-added-later', 'a claim adds what a crash left out', REACHED, { ...TWO, TAIL: 1, REACH: 'ADDED_LATER' }),
  cell('reach-behind', 'what is behind is parked', REACHED, { ...TWO, REACH: 'BEHIND' }),
  cell('reach-forgotten', 'what is forgotten is parked', REACHED, { MAXGAPS: 0, REACH: 'FORGOTTEN_PARKED' }),
  cell('reach-run-again', 'a person lets a number run, and it runs', REACHED, {
    ...TWO,
    ...FORGETS,
    REACH: 'RUN_AGAIN',
  }),
  cell('reach-filled', 'a gap is filled', REACHED, { ...TWO, REACH: 'FILLED' }),
  cell('reach-removed', 'a record leaves the tail', REACHED, { TAIL: 1, REACH: 'REMOVED' }),
]

function cell(what: string, shows: string, expect: Expectation, defines: Defines, search: Search = 'shortest'): Cell {
  return {
    name: `sequences-${what}`,
    model: 'sequences',
    shows,
    defines,
    expect,
    search,
    quick: what === 'source-first',
  }
}
