import { HOLDS, REACHED, violates, type Cell, type Defines, type Expectation } from '../cell.ts'

const QUICK = new Set([
  'lane-no-lanes',
  'partition-highest',
  'channel-generations',
  'channel-old-tag',
  'offsets-position-first',
  'log-unnamed',
  'suspects-last-beside',
  'open-claims-look-first',
  'outbox-remove-first',
  'flush-ticker',
  'liveness-drained',
])

/** Several messages: of one lane, of one partition, of one channel, and under stored positions. */
export const STREAMS: readonly Cell[] = [
  cell('lane', 'inbox', 'effects of one key in the order of the log, whoever holds the partition', HOLDS, {
    INBOX: 1,
    STRICT: 1,
    REBALANCES: 1,
  }),
  cell('lane', 'inbox-two-rebalances', 'the same with two rebalances', HOLDS, { INBOX: 1, STRICT: 1 }),
  cell('lane', 'keyed', 'lease, provider dedups: the same', HOLDS, { KEYED: 1, STRICT: 1 }),
  cell('lane', 'park', 'lease, park: the same, what is parked excepted', HOLDS, { PARK: 1, STRICT: 1 }),
  cell('lane', 'rerun', 'lease, rerun: the same, but for a holder whose lease is lost', HOLDS, {}),
  cell('lane', 'stale-holder', 'lease, rerun: a late holder disturbs the order', violates('A8'), { STRICT: 1 }),
  cell('lane', 'no-lanes', 'the next message of a key runs before the first is over', violates('A8'), { NOLANES: 1 }),
  cell('lane', 'retry-elsewhere', 'a retry goes to a retry place, the lane goes on', violates('A8'), {
    INBOX: 1,
    ELSEWHERE: 1,
  }),
  cell('lane', 'reach-zombie', 'one that lost the partition still handles', REACHED, {
    REACH: 'ZOMBIE_HANDLED',
    REBALANCES: 1,
  }),
  cell('lane', 'reach-retried', 'a message fails, is retried, and the next follows', REACHED, {
    REACH: 'RETRIED',
    REBALANCES: 1,
  }),

  cell('partition', 'watermark', 'handlers end in any order: no commit jumps over one, none goes back', HOLDS, {
    N: 2,
  }),
  cell('partition', 'watermark-three', 'the same with three messages', HOLDS, { REBALANCES: 1, CRASHES: 0 }),
  cell('partition', 'highest', 'the highest that ended is committed', violates('A3'), {
    HIGHEST: 1,
    N: 2,
  }),
  cell('partition', 'before-the-mark', 'finished when the handler ends', violates('A3'), { EARLY: 1, N: 2 }),
  cell('partition', 'old-epoch', 'the watermark of an old epoch is committed in the new one', violates('A9'), {
    STAMPEDLATE: 1,
    N: 2,
  }),
  cell('partition', 'old-ticket', 'a delivery of an old epoch finishes a ticket of the new one', violates('A3'), {
    OLDTICKET: 1,
  }),
  cell('partition', 'reach-refused', 'a commit is refused by the broker', REACHED, { REACH: 'REFUSED', N: 2 }),
  cell('partition', 'reach-out-of-order', 'the second ends first', REACHED, { REACH: 'OUT_OF_ORDER', N: 2 }),

  cell('log', 'named', 'the log is cut off and grows again: no new message below the offset is passed over', HOLDS, {}),
  cell('log', 'unnamed', 'a commit names no message', violates('A1'), {
    UNNAMED: 1,
    CUTS: 1,
    CRASHES: 0,
  }),
  cell('log', 'lazy', 'a join compares only when there is something new', violates('A1'), { LAZY: 1 }),
  cell('log', 'blind', 'a running member does not look back', violates('A1'), { BLIND: 1 }),
  cell('log', 'reach-found', 'another log is found', REACHED, { REACH: 'FOUND' }),
  cell('log', 'reach-quiet', 'it is found where nothing new follows', REACHED, { REACH: 'FOUND_QUIET' }),
  cell('log', 'reach-meanwhile', 'it is cut off while a message of it is handled', REACHED, {
    REACH: 'CUT_WHILE_HANDLED',
  }),

  cell('channel', 'generations', 'channels close, tags begin anew: no ack without its mark, none refused', HOLDS, {}),
  cell('channel', 'generations-three', 'the same with three closes', HOLDS, { CLOSES: 3, RETURNS: 2 }),
  cell('channel', 'old-tag', 'a delivery of an old channel is acked on the new one', violates('A3'), { OLDTAG: 1 }),
  cell('channel', 'highest', 'ack multiple of the highest that is finished', violates('A3'), { HIGHEST: 1 }),
  cell('channel', 'before-the-mark', 'acked when the handler ends', violates('A3'), { EARLY: 1 }),
  cell('channel', 'settled-twice', 'ack multiple of a tag that had its own frame', violates('TAG'), { OVERSETTLED: 1 }),
  cell('channel', 'reach-stale', 'a handler outlives its channel', REACHED, { REACH: 'STALE' }),
  cell('channel', 'reach-multiple', 'one frame for several', REACHED, { REACH: 'MULTIPLE' }),

  cell('offsets', 'stored', 'one effect for each offset, none lost, also after a lost tail', HOLDS, {}),
  cell('offsets', 'stored-more-faults', 'the same with two restores', HOLDS, {
    RESTORES: 2,
    FAILS: 0,
  }),
  cell('offsets', 'begins-at-the-broker', 'a join begins at the broker: the check for gaps alone saves it', HOLDS, {
    BROKERSTART: 1,
    FAILS: 0,
  }),
  cell('offsets', 'broker-believed', 'begins at the broker, and asks for no gaps', violates('A1'), {
    BROKERSTART: 1,
    NOGAPCHECK: 1,
    FAILS: 0,
  }),
  cell('offsets', 'no-gap-check', 'that the source has read on is taken for a proof', violates('A1'), {
    NOGAPCHECK: 1,
    FAILS: 0,
  }),
  cell('offsets', 'effects-first', 'the position moves in a transaction of its own, after', violates('A2'), {
    TWOTRANSACTIONS: 1,
    FAILS: 0,
    RESTORES: 0,
  }),
  cell('offsets', 'position-first', 'the position moves in a transaction of its own, before', violates('A1'), {
    TWOTRANSACTIONS: 2,
    FAILS: 0,
    RESTORES: 0,
  }),
  cell('offsets', 'not-held', 'the position is not held while a handler runs', violates('A2'), {
    UNHELD: 1,
    FAILS: 0,
  }),
  cell('offsets', 'before-the-first-row', 'set back to before the first row: a known limit', violates('A1'), {
    EARLYRESTORE: 1,
    FAILS: 0,
  }),
  cell('offsets', 'torn-unwritten', "no row tells of a handler's own COMMIT", violates('A2'), {
    TORNMISSED: 1,
    FAILS: 0,
    RESTORES: 0,
  }),
  cell('offsets', 'torn-unread', 'the row is there, and no claim reads it', violates('A2'), {
    TORNMISSED: 2,
    FAILS: 0,
    RESTORES: 0,
  }),
  cell('offsets', 'reach-torn', 'a handler commits with its effect: parked, with one effect', REACHED, {
    REACH: 'TORN',
    RESTORES: 0,
  }),
  cell('offsets', 'reach-torn-before', 'a handler commits and dies before its effect: parked', REACHED, {
    REACH: 'TORN_BEFORE',
    RESTORES: 0,
  }),
  cell('offsets', 'reach-behind', 'the store is behind what was delivered', REACHED, {
    REACH: 'BEHIND',
    HANDCOMMITS: 0,
  }),
  cell('offsets', 'reach-healed', 'what was lost with the tail is handled again', REACHED, {
    REACH: 'HEALED',
    HANDCOMMITS: 0,
  }),
  cell('offsets', 'reach-outlived', 'a transaction outlives its partition, and commits', REACHED, {
    REACH: 'OUTLIVED',
  }),
  cell('offsets', 'reach-gap', 'a gap of the log is passed', REACHED, { REACH: 'AFTER_GAP' }),

  cell('suspects', 'two-killers', 'inbox: what kills its process is given up, nothing beside it is', HOLDS, {}),
  cell('suspects', 'more-attempts', 'the same with four attempts', HOLDS, { MAXATTEMPTS: 4, N: 3 }),
  cell('suspects', 'last-beside', 'a last attempt runs beside other transactions', violates('POISON'), {
    LASTBESIDE: 1,
    KILLERS: 1,
  }),
  cell('suspects', 'fresh-beside', 'what was never counted may begin beside a last attempt', violates('POISON'), {
    FRESHBESIDE: 1,
  }),
  cell('suspects', 'fresh-beside-one-killer', 'the same, where only one message kills', HOLDS, {
    FRESHBESIDE: 1,
    KILLERS: 1,
  }),
  cell('suspects', 'reach-hurt', 'an innocent has one attempt left', REACHED, { REACH: 'HURT' }),
  cell('suspects', 'reach-last', 'it is done in its last attempt', REACHED, { REACH: 'LAST_DONE' }),

  cell('open-claims', 'counted', 'inbox: whoever starts a handler knows of each start before, and of no more', HOLDS, {
    CRASHES: 2,
  }),
  cell('open-claims', 'three', 'the same with three workers', HOLDS, { WORKERS: 3 }),
  cell('open-claims', 'look-first', 'it looks before it has the message', violates('COUNTED'), { LOOKFIRST: 1 }),
  cell('open-claims', 'window', 'a claim that does not hold the message yet counts', violates('BLAME'), {
    WINDOWCOUNTS: 1,
  }),
  cell('open-claims', 'move-first', 'it moves its row before it holds the message', violates('BLAME'), {
    MOVEFIRST: 1,
  }),
  cell('open-claims', 'gone-late', 'the row of a claim that is granted nothing goes last', violates('BLAME'), {
    GONELATE: 1,
  }),
  cell('open-claims', 'not-withdrawn', 'what a failure has written stays in the rows', violates('BLAME'), {
    NOTWITHDRAWN: 1,
    FAILS: 2,
  }),
  cell('open-claims', 'late', 'held back afterwards, though another claim has counted it', violates('COUNTED'), {
    LATEOVERALL: 1,
  }),
  cell('open-claims', 'reach-twice', 'it starts again', REACHED, { REACH: 'TWICE' }),

  cell(
    'outbox',
    'relay',
    'outbox: what is committed is published, in the order of its line, and nothing else',
    HOLDS,
    {},
  ),
  cell('outbox', 'two-lines', 'the same with a relay that dies twice', HOLDS, { CRASHES: 2, FREEZES: 0 }),
  cell('outbox', 'early', 'a row is published before its COMMIT', violates('PHANTOM'), { EARLY: 1 }),
  cell('outbox', 'no-lock', 'several relays work on one line', violates('ONCE'), { NOLOCK: 1 }),
  cell('outbox', 'remove-first', 'rows are removed before they are confirmed', violates('LOST'), {
    REMOVEFIRST: 1,
    ROWS: 1,
  }),
  cell('outbox', 'position', 'a relay goes on behind the highest row that it has read', violates('LOST'), {
    POSITION: 1,
    ROWS: 2,
    CRASHES: 0,
    FREEZES: 0,
    REFUSALS: 0,
  }),
  cell('outbox', 'read-first', 'a relay reads its rows before it has the lock', violates('ONCE'), {
    READFIRST: 1,
    LINES: 1,
  }),
  cell('outbox', 'skip-refused', 'a relay goes on behind a row that was refused', violates('ORDER'), {
    SKIPREFUSED: 1,
  }),
  cell('outbox', 'unserialised', 'transactions of one line that do not wait for each other', violates('ORDER'), {
    UNSERIALISED: 1,
  }),
  cell('outbox', 'reach-twice', 'a row is published again', REACHED, { REACH: 'TWICE' }),
  cell('outbox', 'reach-late', 'a relay without its lock still publishes', REACHED, { REACH: 'LATE' }),

  cell('flush', 'ticker', 'asynchronous commits: what is settled is on disk', HOLDS, {}),
  cell('flush', 'reader-does-not-wait', 'a duplicate is settled by a mark not yet on disk', violates('A1'), {
    NOREADWAIT: 1,
    ASK_A3: 0,
  }),
  cell('flush', 'writer-does-not-wait', 'settled after COMMIT', violates('A1'), { NOMARKWAIT: 1, ASK_A3: 0 }),
  cell('flush', 'any-backend', 'the flush of a backend that was not there is believed', violates('A1'), {
    NOWITNESS: 1,
    ASK_A3: 0,
  }),
  cell('flush', 'empty-flush', 'the reader flushes by a commit that wrote nothing', violates('A1'), {
    EMPTYFLUSH: 1,
    ASK_A3: 0,
  }),
  cell('flush', 'reach-undone', 'a crash undoes a commit', REACHED, { REACH: 'UNDONE' }),
  cell('flush', 'reach-ambiguous', 'flushed by another backend', REACHED, { REACH: 'AMBIGUOUS' }),

  cell('liveness', 'drained', 'faults end, the message is drained', HOLDS, {}),
  cell('liveness', 'no-stuck-lease', 'no record stays owned', HOLDS, { ASK_L2: 1 }),
  cell('liveness', 'busy-forgotten', 'what was busy is never asked for again', violates('L1'), { BUSYFORGOTTEN: 1 }),
  cell('liveness', 'release-forgotten', 'renewed on, though its handler has failed', violates('L1'), {
    KEPTFOREVER: 1,
  }),
  cell('liveness', 'deaf-renewed', 'a handler that never ends is renewed for ever', violates('L2'), {
    DEAFKEPT: 1,
    ASK_L2: 1,
  }),
  cell('liveness', 'no-deadline', 'a lease without an end', violates('L2'), { NODEADLINE: 1, ASK_L2: 1 }),
  cell('liveness', 'gives-up', 'an error of the store ends the worker', violates('L1'), { GIVESUP: 1 }),
]

function cell(model: string, what: string, shows: string, expect: Expectation, defines: Defines): Cell {
  const calm = expect.kind === 'holds' ? 'reduced' : 'shortest'
  const search = model === 'liveness' ? 'fair' : calm
  return { name: `${model}-${what}`, model, shows, defines, expect, search, quick: QUICK.has(`${model}-${what}`) }
}
