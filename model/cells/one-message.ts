import { HOLDS, REACHED, violates, type Cell, type Defines, type Expectation, type Search } from '../cell.ts'

const PARK = { PARK: 1, EFFECTS: 1 }
const RERUN = { PARK: 0 }
const KEYED = { KEYED: 1, EFFECTS: 1 }
const INBOX = { INBOX: 1, EFFECTS: 1 }
const CALM = { CRASHES: 0, EXPIRIES: 0, UNKNOWNS: 0, FAILS: 0 }

const QUICK = new Set(['rerun-twice-no-crash', 'reopen-runs', 'loss-park-twice', 'inbox-cut-rolls-back'])

/** The protocol of one message, as built. Laws A1, A3, A14, SEAL are asked of every cell that does not say otherwise. */
const SAFE: readonly Cell[] = [
  safe('park', 'lease, park: at most one effect', { ...PARK, TRANSFER: 1 }),
  safe('park-full', 'the same without reduction', PARK, 'full'),
  safe('park-three-workers', 'the same with three workers', { ...PARK, WORKERS: 3, EXPIRIES: 1 }),
  safe('park-two-crashes', 'the same with two crashes', { ...PARK, CRASHES: 2, EXPIRIES: 1 }),
  safe('park-sent-twice', 'the same where the sender sent it twice', { ...PARK, SENTTWICE: 1 }),
  safe('rerun', 'lease, rerun: never lost, never settled early', { ...RERUN, TRANSFER: 1, EXPIRIES: 1 }),
  safe('rerun-full', 'the same without reduction', { ...RERUN, EXPIRIES: 1 }, 'full'),
  safe('rerun-two-crashes', 'the same with two crashes', { ...RERUN, CRASHES: 2, EXPIRIES: 1 }),
  safe('rerun-three-workers', 'the same with three workers', { ...RERUN, WORKERS: 3, EXPIRIES: 1, UNKNOWNS: 0 }),
  safe('keyed', 'lease, provider dedups: one accepted effect', { ...KEYED, TRANSFER: 1, EXPIRIES: 1 }),
  safe('inbox', 'inbox: one committed effect', { ...INBOX, CRASHES: 2, EXPIRIES: 3, TRANSFER: 1 }),
  safe('inbox-full', 'the same without reduction', { ...INBOX, CRASHES: 2, TRANSFER: 1 }, 'full'),
  safe('inbox-three-workers', 'the same with three workers', { ...INBOX, WORKERS: 3, EXPIRIES: 1 }),
  safe(
    'inbox-outlives',
    'inbox: a handler outlives its delivery, or is ended by a stop: one effect, each start counted',
    {
      ...INBOX,
      CUTS: 3,
      STOPS: 3,
      EXPIRIES: 1,
      ASK_COUNTED: 1,
    },
  ),
  safe('rerun-counted', 'lease, rerun: each start is counted, that of what a stop interrupted too', {
    ...RERUN,
    EXPIRIES: 1,
    UNKNOWNS: 2,
    ASK_COUNTED: 1,
  }),
  safe('redrive-park', 'a dead letter sent again goes back to its place', { ...PARK, REDRIVE: 1, MAXATTEMPTS: 1 }),
  safe('redrive-rerun', 'the same under rerun', { ...RERUN, REDRIVE: 1, MAXATTEMPTS: 1 }),
  safe('redrive-inbox', 'the same under an inbox', { ...INBOX, REDRIVE: 1, TRANSFER: 1, CRASHES: 2 }),
  safe('reopen-park', 'what is reopened is not lost, wherever the tool dies', {
    ...PARK,
    REDRIVE: 1,
    DECIDE: 1,
    MAXATTEMPTS: 1,
    EXPIRIES: 1,
    ASK_A14: 0,
  }),
  safe(
    'reopen-runs',
    'without faults, what is reopened and sent again has one effect',
    { ...PARK, ...CALM, FAILS: 1, MAXATTEMPTS: 1, REDRIVE: 1, DECIDE: 1, ASK_A14: 0, ASK_REDRIVEN: 1 },
    'full',
  ),
  safe('rerun-parked', 'a person reruns what is parked: not lost', {
    PARK: 1,
    REDRIVE: 1,
    DECIDE: 2,
    MAXATTEMPTS: 1,
    EXPIRIES: 1,
    UNKNOWNS: 0,
    ASK_A14: 0,
  }),
  safe('loss-park', 'the store forgets the record: not lost, and no more effects than the loss explains', {
    PARK: 1,
    LOSS: 1,
    EXPIRIES: 1,
    UNKNOWNS: 0,
    ASK_A14: 0,
    ASK_NOWORSE: 1,
  }),
  safe('loss-park-redrive', 'the same with a redrive: not lost', {
    PARK: 1,
    LOSS: 1,
    REDRIVE: 1,
    EXPIRIES: 1,
    MAXATTEMPTS: 1,
    UNKNOWNS: 0,
    ASK_A14: 0,
  }),
  safe('loss-park-refused', 'a mark on an absent record refused: nothing is gained by it', {
    PARK: 1,
    LOSS: 1,
    EXPIRIES: 1,
    UNKNOWNS: 0,
    MARKABS: 0,
    ASK_A14: 0,
    ASK_NOWORSE: 1,
  }),
  safe('loss-keyed', 'the store forgets, the provider does not: one accepted effect', {
    ...KEYED,
    LOSS: 1,
    EXPIRIES: 1,
    UNKNOWNS: 0,
    ASK_A14: 0,
  }),
]

const UNSAFE: readonly Cell[] = [
  unsafe('rerun-twice', 'rerun: an effect twice, as the guarantee table says', 'A2', { EFFECTS: 1, UNKNOWNS: 0 }),
  unsafe('rerun-twice-no-crash', 'rerun: the same by a slow handler alone', 'A2', {
    ...CALM,
    EFFECTS: 1,
    EXPIRIES: 1,
  }),
  unsafe('doubt-given-up', 'attempts spent in doubt are given up', 'A14', { DOUBTPARKED: 0 }),
  unsafe('doubt-given-up-keyed', 'the same with a provider that dedups', 'A14', { KEYED: 1, DOUBTPARKED: 0 }),
  unsafe('old-order', 'dead letter first, record after it', 'A14', { OLDORDER: 1, UNKNOWNS: 0 }),
  unsafe('old-order-inbox', 'the same under an inbox', 'A14', { INBOX: 1, OLDORDER: 1 }),
  unsafe('loss-park-twice', 'park, the store forgets the record: an effect twice', 'A2', {
    ...PARK,
    ...CALM,
    LOSS: 1,
  }),
  unsafe('loss-park-given-up', 'the same: a dead letter and an effect', 'A14', { PARK: 1, LOSS: 1 }),
  unsafe('reopened-and-happened', 'a person reopens, then nobody sends it again', 'A14', {
    PARK: 1,
    REDRIVE: 1,
    DECIDE: 1,
    MAXATTEMPTS: 1,
  }),
  unsafe('rerun-parked-twice', 'a person reruns what is parked while its old handler runs', 'A2', {
    ...PARK,
    REDRIVE: 1,
    DECIDE: 2,
    ASK_A14: 0,
  }),
  unsafe('inbox-row-lost', 'inbox, row purged before the last redelivery', 'A2', { ...INBOX, LOSS: 1, ASK_A14: 0 }),
  unsafe('inbox-cut-rolls-back', 'a lost delivery rolls back, and gives the attempt back', 'COUNTED', {
    ...INBOX,
    CUTS: 3,
    CUTRELEASES: 1,
    ASK_COUNTED: 1,
  }),
  unsafe('inbox-cut-frees', 'a lost delivery frees the row of a handler that goes on', 'A2', {
    ...INBOX,
    CUTS: 1,
    CUTFREES: 1,
    // Its effect comes after another has given the message up, too.
    ASK_A14: 0,
  }),
  unsafe('inbox-stop-refunds', 'what a stop ended is given back', 'COUNTED', {
    ...INBOX,
    STOPS: 3,
    STOPREFUNDS: 1,
    ASK_COUNTED: 1,
  }),
  unsafe('rerun-stop-refunds', 'the same under a lease', 'COUNTED', {
    ...RERUN,
    UNKNOWNS: 3,
    STOPREFUNDS: 1,
    ASK_COUNTED: 1,
  }),
  unsafe('swallow', 'what is set aside swallows a delivery', 'A1', { PARK: 1, SWALLOW: 1 }),
  unsafe('settle-first', 'the original is settled before its copy is confirmed', 'A1', {
    PARK: 1,
    TRANSFER: 1,
    SETTLEFIRST: 1,
  }),
  unsafe('release-after', 'an unanswered mark is taken for a failure', 'A2', { ...PARK, RELEASEAFTER: 1 }),
  unsafe('forget-doubt', 'a release ends doubt', 'A2', { ...PARK, FORGETDOUBT: 1 }),
  unsafe('plain-unknown', 'a time-out is taken for a plain failure', 'A2', { ...PARK, PLAINUNKNOWN: 1 }),
]

const REACHABLE: readonly Cell[] = [
  reaches('done', 'DONE', { PARK: 1 }),
  reaches('given-up', 'GIVENUP', { PARK: 1 }),
  reaches('parked', 'PARKED', { PARK: 1 }),
  reaches('parked-with-effect', 'PARKED_WITH_EFFECT', { PARK: 1 }),
  reaches('deaf-effect', 'DEAF_EFFECT', { PARK: 1 }),
  reaches('unknown-effect', 'UNKNOWN_EFFECT', { PARK: 1 }),
  reaches('marked-late', 'MARKED_LATE', { PARK: 1 }),
  reaches('transferred', 'TRANSFERRED', { PARK: 1, TRANSFER: 1 }),
  reaches('redriven-given-up', 'REDRIVEN_GIVENUP', { PARK: 1, REDRIVE: 1 }),
  reaches('redriven-parked', 'REDRIVEN_PARKED', { PARK: 1, REDRIVE: 1 }),
  reaches('reopened-ran', 'REOPENED_RAN', {
    ...CALM,
    PARK: 1,
    FAILS: 1,
    MAXATTEMPTS: 1,
    REDRIVE: 1,
    DECIDE: 1,
    // A person may let it run though it lies in the dead-letter place.
    ASK_A14: 0,
  }),
  reaches('inbox-outlived', 'OUTLIVED', { INBOX: 1, CUTS: 1 }),
  reaches('inbox-given-up', 'GIVENUP', { INBOX: 1 }),
  reaches('marked-after-loss', 'MARKED_AFTER_LOSS', { PARK: 1, LOSS: 1, ASK_A14: 0 }),
]

export const ONE_MESSAGE: readonly Cell[] = [...SAFE, ...UNSAFE, ...REACHABLE]

function safe(name: string, shows: string, defines: Defines, search: Search = 'reduced'): Cell {
  return cell(name, shows, defines, HOLDS, search)
}

function unsafe(name: string, shows: string, law: string, defines: Defines): Cell {
  return cell(name, shows, defines, violates(law), 'shortest')
}

function reaches(name: string, state: string, defines: Defines): Cell {
  const shows = name.replaceAll('-', ' ')
  return cell(`reach-${name}`, shows, { ...defines, REACH: state }, REACHED, 'shortest')
}

function cell(name: string, shows: string, defines: Defines, expect: Expectation, search: Search): Cell {
  return { name, model: 'one-message', shows, defines, expect, search, quick: QUICK.has(name) }
}
