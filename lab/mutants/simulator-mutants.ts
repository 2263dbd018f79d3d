import type { Mutant, Patch } from './mutant.ts'

/** What the simulator must find, most of it within 100 seeds: `npm run mutants`. */
export const SIMULATOR_MUTANTS: readonly Mutant[] = [
  mutant('ack-first', 'Settles a message when it arrives.', {
    file: 'src/pipeline/pipeline.ts',
    find: '    else this.lanes.enqueue(identified)\n',
    replace: '    else this.lanes.enqueue(identified)\n    delivery.settle()\n',
  }),
  mutant('settle-before-mark', 'Settles when the handler has ended, before the mark is durable.', {
    file: 'src/pipeline/marks.ts',
    find: '    const results = this.#remembers ? runs.flatMap(resultsOf) : undefined\n',
    replace:
      '    for (const { task } of items) for (const delivery of [task.first, ...task.joined]) delivery.settle()\n' +
      '    const results = this.#remembers ? runs.flatMap(resultsOf) : undefined\n',
  }),
  mutant('mark-before-effect', 'Marks a message when its handler starts.', {
    file: 'src/pipeline/lease-runner.ts',
    find: '    run.start(consumer, undefined, now, this.#onEnd)\n',
    replace:
      '    void consumer.store.mark(run.claims).catch(() => {})\n' +
      '    run.start(consumer, undefined, now, this.#onEnd)\n',
  }),
  mutant('blind-mark', 'Marks without comparing the owner token.', {
    file: 'src/core/record.ts',
    find: "      if (record.owner !== command.token) return { next: record, verdict: 'refused-busy' }\n",
    replace: '',
  }),
  mutant('blind-release', 'Releases without comparing the owner token.', {
    file: 'src/core/record.ts',
    find:
      "  if (record.state !== 'processing' || record.owner !== command.token) return { next: record, verdict: 'refused' }\n" +
      '  const { digest, fence, attempt, doubt, owner, keepUntil } = record\n',
    replace:
      "  if (record.state !== 'processing') return { next: record, verdict: 'refused' }\n" +
      '  const { digest, fence, attempt, doubt, owner, keepUntil } = record\n',
  }),
  mutant('blind-set-aside', 'Sets aside without comparing the owner token.', {
    file: 'src/core/record.ts',
    find:
      "  if (record.state !== 'processing' || record.owner !== token) return { next: record, verdict: 'refused' }\n" +
      '  const { digest, fence, owner, doubt, keepUntil } = record\n',
    replace:
      "  if (record.state !== 'processing') return { next: record, verdict: 'refused' }\n" +
      '  const { digest, fence, owner, doubt, keepUntil } = record\n',
  }),
  mutant('claim-in-backoff', 'Grants what is released before the time of its next attempt.', {
    file: 'src/core/record.ts',
    find: '      if (record.notBefore !== undefined && record.notBefore > now) {\n',
    replace: '      if (record.notBefore !== undefined && record.notBefore > now + 1e15) {\n',
  }),
  mutant('blind-renew', 'Renews without comparing the owner token.', {
    file: 'src/core/record.ts',
    find: "  if (record.state !== 'processing' || record.owner !== command.token) return { next: record, verdict: 'lost' }\n",
    replace: "  if (record.state !== 'processing') return { next: record, verdict: 'lost' }\n",
  }),
  mutant('settle-on-busy', 'Takes a message that another owner is busy with for a duplicate.', {
    file: 'src/pipeline/lease-runner.ts',
    find: '        this.#desk.awaitOwner(task, step.waitMs)\n',
    replace: '        this.#desk.duplicate(task, Evidence.ofDone(answer as never), {})\n',
  }),
  mutant('swallow-given-up', 'Takes a message that was given up or parked for a duplicate.', {
    file: 'src/pipeline/lease-runner.ts',
    find: '        void this.#desk.deadLetterAgain(task, step)\n',
    replace: '        this.#desk.duplicate(task, Evidence.ofDone(answer as never), {})\n',
  }),
  mutant('settle-refused-mark', 'Settles though the mark was refused.', {
    file: 'src/core/decision.ts',
    find: "  return verdict === 'marked' || verdict === 'already-marked' || verdict === 'marked-late'\n",
    replace: '  return verdict.length > 0\n',
  }),
  mutant('done-from-error', 'Infers from an error of the store that a message is done.', {
    file: 'src/pipeline/pipeline.ts',
    find: '      return store.claim(request)\n',
    replace: "      return store.claim(request).catch(() => request.items.map(() => ({ verdict: 'done' }) as const))\n",
  }),
  mutant('release-after-unknown', 'Takes a mark without an answer for a failure, and releases.', {
    file: 'src/pipeline/marks.ts',
    find: '    return line.ask(claims.length, () => consumer.store.mark(claims, results), faultOfMark)\n',
    replace:
      '    return consumer.store.mark(claims, results).catch(async () => {\n' +
      '      await consumer.store.release(claims, { refund: false, doubt: false }).catch(() => {})\n' +
      "      return claims.map(() => 'refused-busy' as const)\n" +
      '    })\n',
  }),
  mutant('commit-unknown-as-failure', 'Inbox: takes a COMMIT without an answer for a rollback.', {
    file: 'src/pipeline/inbox-runner.ts',
    find: "        if (!hasCode(error, 'FLOATING_QUERY') && !hasCode(error, 'COMMIT_REFUSED')) throw error\n",
    replace: '',
  }),
  mutant('attempt-burnt-by-busy', 'Counts an attempt at each claim, also one that is not granted.', {
    file: 'src/core/record.ts',
    find: "        return { next: record, verdict: { verdict: 'busy', leaseLeftMs: record.leaseUntil - now } }\n",
    replace:
      '        return {\n' +
      '          next: { ...record, attempt: record.attempt + 1 },\n' +
      "          verdict: { verdict: 'busy', leaseLeftMs: record.leaseUntil - now },\n" +
      '        }\n',
  }),
  mutant('lost-take-over', 'Answers a take-over that is asked for again as a plain claim.', {
    file: 'src/core/record.ts',
    find: '      if (record.owner === command.token) return grant(command, now, record)\n',
    replace: '      if (record.owner === command.token) return grant(command, now, { ...record, doubt: false })\n',
  }),
  mutant('doubt-forgotten', 'Forgets at a release what was in doubt before.', {
    file: 'src/core/record.ts',
    find: '      doubt: doubt || command.doubt,\n',
    replace: '      doubt: command.doubt,\n',
  }),
  mutant('time-out-as-failure', 'Takes what is thrown after an abort for the word that no effect happened.', {
    file: 'src/pipeline/handler-run.ts',
    find: "    if (!isOurs) return this.isAborted ? 'unknown' : 'failed'\n",
    replace: "    if (!isOurs) return 'failed'\n",
  }),
  mutant(
    'doubt-given-up',
    'Gives up what is in doubt once its attempts are spent.',
    {
      file: 'src/core/decision.ts',
      find: "      return { next: 'set-aside', as: doubt ? 'parked' : 'given-up', reason: 'attempts-spent' }\n",
      replace: "      return { next: 'set-aside', as: 'given-up', reason: 'attempts-spent' }\n",
    },
    {
      file: 'src/core/record.ts',
      find: "  return as === 'given-up' && !doubt\n",
      replace: "  return as === 'given-up'\n",
    },
  ),
  mutant('settle-before-copy', 'Settles when a dead letter or a retry copy is sent, not when it is confirmed.', {
    file: 'src/pipeline/copies.ts',
    find: '        return await Evidence.ofCopy(publish(publisher))\n',
    replace: '        publish(publisher).catch(() => {})\n        return await Evidence.ofCopy(Promise.resolve())\n',
  }),
  mutant('conflict-joined', 'Lets another payload join the one under way with the same ID.', {
    file: 'src/pipeline/flights.ts',
    find: '    if (other.payloadHash === task.payloadHash) {\n',
    replace: "    if (other.payloadHash !== 'none') {\n",
  }),
  mutant('duplicate-dead-lettered', 'Takes every duplicate for a conflict.', {
    file: 'src/core/decision.ts',
    find: "      return { next: 'settle-duplicate', result: answer.result }\n",
    replace:
      "      return { next: 'dead-letter', parked: false, reason: 'conflict', detail: 'same ID, another payload' }\n",
  }),
  mutant('released-conflicts', 'Takes what has failed once for a conflict.', {
    file: 'src/core/record.ts',
    find: "      if (record.doubt && !command.alone) return { next: record, verdict: { verdict: 'in-doubt' } }\n",
    replace: "      if (record.attempt > 0) return { next: record, verdict: { verdict: 'conflict' } }\n",
  }),
  mutant('renew-never', 'Renews no lease.', {
    file: 'src/pipeline/lease-keeper.ts',
    find: '    if (due.length === 0) return\n',
    replace: '    if (due.length >= 0) return\n',
  }),
  mutant(
    'attempts-without-end',
    'Starts a handler as often as it fails.',
    {
      file: 'src/core/decision.ts',
      find: "      if (attempt < policy.maxAttempts) return { next: 'retry' }\n",
      replace: "      if (attempt < 99) return { next: 'retry' }\n",
    },
    {
      file: 'src/core/decision.ts',
      find: "      if (answer.attempt > policy.maxAttempts) return { next: 'set-aside', as: 'given-up', reason: 'attempts-spent' }\n",
      replace: '',
    },
  ),
  mutant('parked-though-to-run', 'Parks what is in doubt also where it is to run again.', {
    file: 'src/core/decision.ts',
    find: "      return policy.onInDoubt === 'park'\n",
    replace: '      return policy.maxAttempts > 0\n',
  }),
  mutant('scope-left-out', 'Makes keys of the ID alone.', {
    file: 'src/core/key.ts',
    find: '  for (const part of scope) {\n',
    replace: '  for (const part of scope.slice(1, 1)) {\n',
  }),
  mutant('commit-highest', 'Commits the highest finished offset, not the contiguous one.', {
    file: 'src/core/watermark.ts',
    find: '    while (this.#finished[this.#head] === true) this.#head++\n',
    replace: '    this.#head = index + 1\n',
  }),
  mutant(
    'settle-old-epoch',
    'Settles and commits for an assignment epoch that is over.',
    {
      file: 'testing/sim/log-member.ts',
      find: "        if (epoch.standing !== 'current') return false\n",
      replace: '',
    },
    {
      file: 'testing/sim/log-member.ts',
      find: "    if (epoch.standing !== 'current' || next <= epoch.committed) return undefined\n",
      replace: '    if (next <= epoch.committed) return undefined\n',
    },
  ),
  mutant('ack-new-channel', 'Acks on the channel that is open now.', {
    file: 'testing/sim/queue-consumer.ts',
    find: '      if (isOver || on !== channel) return false\n',
    replace: '      if (isOver || on === undefined) return false\n',
  }),
  mutant('lease-by-own-clock', 'Judges a lease by the clock of whoever asks.', {
    file: 'testing/sim/store-server.ts',
    find: '    connect: () => memoryStore({ clock, records }),\n',
    replace: '    connect: (process) => memoryStore({ clock: process.clock, records }),\n',
  }),
]

function mutant(name: string, what: string, ...patches: readonly Patch[]): Mutant {
  return { name, what, layer: 'simulator', patches }
}
