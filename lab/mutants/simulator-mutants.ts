import type { Change } from './change.ts'
import type { Mutant } from './mutant.ts'

/** Bugs that the simulator must find, most of them within 100 seeds: `npm run mutants`. */
export const SIMULATOR_MUTANTS: readonly Mutant[] = [
  mutant('ack-first', 'Settles a message when it arrives.', {
    call: ({ source, args: [delivery] }) => `(${delivery}.settle(), ${source})`,
  }),
  mutant('settle-before-mark', 'Settles when the handler has ended, before the mark is durable.', {
    call: ({ callee, args: [operation, count, mark, ...others] }) => {
      const sent = `void (${mark})().catch(() => {})`
      const marked = `async () => { ${sent}; return Array(${count}).fill('marked') }`
      return `${callee}(${[operation, count, marked, ...others].join(', ')})`
    },
  }),
  mutant('mark-before-effect', 'Marks a message before its handler starts.', {
    call: ({ source, on }) => {
      const marked = `${on}.mark(answers.flatMap((one) => ('claim' in one ? [one.claim] : [])))`
      return `${source}.then(async (answers) => (await ${marked}.catch(() => {}), answers))`
    },
  }),
  mutant('blind-mark', 'Marks without comparing the owner token.', 'remove'),
  mutant('blind-release', 'Releases without comparing the owner token.', { dropOperand: 1 }),
  mutant('blind-set-aside', 'Sets aside without comparing the owner token.', { dropOperand: 1 }),
  mutant('claim-in-backoff', 'Grants a released message before the time of its next attempt.', 'never'),
  mutant('blind-renew', 'Renews without comparing the owner token.', { dropOperand: 1 }),
  mutant('settle-on-busy', 'Takes a message that another owner is busy with for a duplicate.', readAsDone('busy')),
  mutant(
    'swallow-given-up',
    'Takes a message that was given up or parked for a duplicate.',
    readAsDone('given-up', 'parked'),
  ),
  mutant('settle-refused-mark', 'Settles though the mark was refused.', { value: 'true' }),
  mutant('done-from-error', 'Infers from an error of the store that a message is done.', {
    call: ({ source, args: [request] }) => `${source}.catch(() => ${request}.items.map(() => ({ verdict: 'done' })))`,
  }),
  mutant('release-after-unknown', 'Takes a mark without an answer for a failure, and releases.', {
    innerCall: ({ source, on, args: [claims] }) => {
      const released = `await ${on}.release(${claims}, { refund: false, doubt: false }).catch(() => {})`
      return `${source}.catch(async () => { ${released}; return ${claims}.map(() => 'refused-busy') })`
    },
  }),
  mutant('commit-unknown-as-failure', 'Inbox: takes a COMMIT without an answer for a rollback.', 'remove'),
  mutant('attempt-burnt-by-busy', 'Counts an attempt at each claim, also one that is not granted.', {
    value: (answer) => `((told) => ({ ...told, next: { ...told.next, attempt: told.next.attempt + 1 } }))(${answer})`,
  }),
  mutant('lost-take-over', 'Answers a take-over that is asked for again as a plain claim.', {
    argument: 2,
    is: (record) => `{ ...${record}, doubt: false }`,
  }),
  mutant('doubt-forgotten', 'Forgets at a release that the record was in doubt before.', { dropOperand: 0 }),
  mutant('time-out-as-failure', 'Takes an error after an abort for a proof that no effect happened.', {
    value: "'failed'",
  }),
  mutant('doubt-given-up', 'Gives up a message in doubt once its attempts are spent.', 'never', { dropOperand: 1 }),
  mutant('settle-before-copy', 'Settles when a dead letter or a retry copy is sent, not when it is confirmed.', {
    argument: 0,
    is: (sent) => `(${sent}.catch(() => {}), Promise.resolve())`,
  }),
  mutant('conflict-joined', 'Lets another payload join the one under way with the same ID.', 'always'),
  mutant('duplicate-dead-lettered', 'Takes every duplicate for a conflict.', {
    value: "{ next: 'dead-letter', parked: false, reason: 'conflict', detail: 'same ID, another payload' }",
  }),
  mutant('released-conflicts', 'Takes a message that has failed once for a conflict.', {
    value: (answer) => `{ ...${answer}, verdict: { verdict: 'conflict' } }`,
  }),
  mutant('renew-never', 'Renews no lease.', 'always'),
  mutant('attempts-without-end', 'Starts a handler as often as it fails.', 'always', 'remove'),
  mutant('parked-though-to-run', 'Parks a message in doubt also where it is to run again.', 'always'),
  mutant('scope-left-out', 'Makes keys of the ID alone.', 'remove'),
  mutant('commit-highest', 'Commits the highest received offset, not the contiguous one.', {
    call: ({ callee }) => `${callee}(true)`,
  }),
  mutant('settle-old-epoch', 'Settles and commits for an assignment epoch that is over.', 'remove', { dropOperand: 0 }),
  mutant('ack-new-channel', 'Acks on the channel that is open now.', {
    binary: (on) => `${on} === undefined`,
  }),
  mutant('lease-by-own-clock', 'Judges a lease by the clock of the process that asks.', {
    instead: (connect) => connect.replace('()', '(process)').replace('clock', 'clock: process.clock'),
  }),
]

/** Reads these answers of a store to a claim as `done`. */
function readAsDone(...verdicts: readonly string[]): Change {
  const isMeant = `${JSON.stringify(verdicts)}.includes(one.verdict)`
  return {
    call: ({ source }) => `${source}.then((answers) => answers.map((one) => (${isMeant} ? { verdict: 'done' } : one)))`,
  }
}

function mutant(name: string, what: string, ...changes: readonly Change[]): Mutant {
  return { name, what, layer: 'simulator', changes }
}
