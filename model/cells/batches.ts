import { HOLDS, REACHED, violates, type Cell, type Defines, type Expectation, type Search } from '../cell.ts'

const LOST: Defines = { LOSSES: 1, FAILS: 0, DEADLINES: 0 }
const REFUSED: Defines = { REFUSALS: 1, FAILS: 0, DEADLINES: 0 }
const FAIR: Defines = { ASK_L1: 1, CRASHES: 0 }
/** A message that is interrupted for ever would count for ever. */
const LONG: Defines = { ...FAIR, LONG: 1, FAILS: 0, ASK_COUNTED: 0 }

/** Messages of an inbox that share a transaction. */
export const BATCHES: readonly Cell[] = [
  cell('faults', 'a crash, a stop, its deadline, a failure: each message answers for itself', HOLDS, {}),
  cell('failures', 'two failures', HOLDS, { FAILS: 2, CRASHES: 0 }),
  cell('more-attempts', 'the same with three attempts', HOLDS, { MAXATTEMPTS: 3, FAILS: 2, CRASHES: 0, DEADLINES: 0 }),
  cell('lost-answer', 'the answer to a COMMIT is lost, applied or not', HOLDS, LOST),
  cell('refused', 'a COMMIT is refused', HOLDS, REFUSED),
  cell(
    'stop-ends',
    'a stop ends without its deadline, and all are settled',
    HOLDS,
    { ...FAIR, DEADLINES: 0, STOPS: 2 },
    'fair',
  ),
  cell(
    'long-ends',
    'a handler is longer than any stop waits: it is given up, the others are done',
    HOLDS,
    LONG,
    'fair',
  ),

  cell('unbegun-marked', 'what never began is marked too', violates('A1'), { MARKUNBEGUN: 1 }),
  cell('unbegun-counted', 'what never began keeps its counted attempt', violates('BLAME'), { NOREFUND: 1 }),
  cell('refund-after-commit', 'refunded after the COMMIT: another worker counts in between', violates('BLAME'), {
    LATEREFUND: 1,
    CRASHES: 0,
  }),
  cell('refund-after-commit-crash', 'the same: the only worker dies in between', violates('BLAME'), {
    LATEREFUND: 1,
    WORKERS: 1,
  }),
  cell('stop-runs-on', 'a stop runs the batch to its end', violates('PROMPT'), { RUNSON: 1 }),
  cell('failure-counts-all', 'a failure counts for its whole batch', violates('BLAME'), { FAILCOUNTSALL: 1 }),
  cell('failure-commits', 'what was handled commits, with what the failed handler wrote', violates('A2'), {
    FAILEDCOMMITS: 1,
  }),
  cell('handled-settled', 'what was handled beside a failure is settled', violates('A3'), { HANDLEDSETTLED: 1 }),
  cell('stop-refunds', 'what the deadline interrupts is refunded', violates('COUNTED'), { STOPREFUNDS: 1 }),
  cell('stop-refunds-for-ever', 'so a long handler runs for ever', violates('L1'), { ...LONG, STOPREFUNDS: 1 }, 'fair'),
  cell('lost-is-failure', 'a lost answer is taken for a failure', violates('BLAME'), { ...LOST, LOSTFAILS: 1 }),
  cell('lost-is-mark', 'a lost answer is taken for a mark', violates('A3'), { ...LOST, LOSTMARKS: 1 }),
  cell('lost-refund', 'a COMMIT is lost, and the refund after it too: a known limit', violates('BLAME'), {
    ...LOST,
    STRICT: 1,
  }),
  cell('refused-refund', 'a COMMIT is refused, and the refund after it is lost: a known limit', violates('BLAME'), {
    ...REFUSED,
    STRICT: 1,
  }),

  reach('stopped', 'a stop ends a batch', { REACH: 'STOPPED' }),
  reach('timed', 'a batch ends because it was open for long enough', { REACH: 'TIMED' }),
  reach('never-began', 'a claim is rolled back before its first handler', { REACH: 'NEVER_BEGAN' }),
  reach('together-again', 'two that were handled beside a failure commit together', { REACH: 'TOGETHER_AGAIN' }),
  reach('interrupted', 'one is interrupted, between one that ended and one that never began', { REACH: 'INTERRUPTED' }),
  reach('ended-in-time', 'an interrupted handler ends well', { REACH: 'ENDED_IN_TIME' }),
  reach('all-counted', 'a crash leaves three attempts counted', { REACH: 'ALL_COUNTED' }),
  reach('given-up', 'one is given up after two failures', { REACH: 'GIVEN_UP', FAILS: 2, CRASHES: 0, STOPS: 0 }),
  reach('last-done', 'one is done in its last attempt', { REACH: 'LAST_DONE' }),
  reach('duplicate', 'one is found done', { REACH: 'DUPLICATE' }),
  reach('lost-applied', 'a COMMIT whose answer is lost was applied', { REACH: 'LOST_APPLIED', ...LOST }),
  reach('lost-undone', 'it was not', { REACH: 'LOST_UNDONE', ...LOST }),
  reach('refused-alone', 'the COMMIT of one is refused', { REACH: 'REFUSED_ALONE', ...REFUSED }),
  reach('refused-set-aside', 'in its last attempt', { REACH: 'REFUSED_SET_ASIDE', ...REFUSED }),
  reach('refused-batch', 'the COMMIT of several is refused', { REACH: 'REFUSED_BATCH', ...REFUSED }),
  reach('refused-stopping', 'the same, in a stop', { REACH: 'REFUSED_STOPPING', ...REFUSED }),
  reach('refund-missed', 'a refund of its own is missed', { REACH: 'REFUND_MISSED', ...REFUSED }),
]

function cell(what: string, shows: string, expect: Expectation, defines: Defines, search?: Search): Cell {
  const calm = expect.kind === 'holds' ? 'reduced' : 'shortest'
  const quick = what === 'failures' || what === 'stop-refunds-for-ever'
  return { name: `batches-${what}`, model: 'batches', shows, defines, expect, search: search ?? calm, quick }
}

function reach(what: string, shows: string, defines: Defines): Cell {
  return cell(`reach-${what}`, shows, REACHED, { WORKERS: 1, ...defines })
}
