const { createRequire } = require('node:module')
const { haveOwnPackages } = require('./own-packages.cjs')

// Part of jest, and not of what the package names.
const { default: Sequencer } = createRequire(require.resolve('jest'))('@jest/test-sequencer')

/** By the times of an earlier run, where there are some. */
const { sort: bySize } = Sequencer.prototype

/**
 * What takes longest, in that order. Where nobody has run the tests before, as in CI, jest knows no times and goes by the sizes of
 * files: one that only calls a contract would come last, and the run would wait for it alone.
 */
const SLOWEST = [
  'lab/simulator/simulator.test.ts',
  'lab/bench/smoke.test.ts',
  'lab/demo/embedded.test.ts',
  'lab/demo/kafka.test.ts',
  'lab/model/model.test.ts',
  'lab/pg/pglite-lease.test.ts',
  'lab/demo/rabbitmq.test.ts',
  'lab/kit/server-versions.test.ts',
  'lab/package/stranger.test.ts',
  'lab/kafka/offsets-strategy.test.ts',
  'lab/chaos/kafka.test.ts',
  'lab/stores/lru-cache-contract.test.ts',
  'lab/pg/pglite-inbox.test.ts',
  'lab/cli/records.test.ts',
  'lab/chaos/rabbitmq.test.ts',
  'lab/demo/memory.test.ts',
  'lab/rabbitmq/poison.test.ts',
  'lab/kafka/broker-faults.test.ts',
  'lab/faults/faults.test.ts',
  'lab/pg/partitions.test.ts',
  'lab/pg/flush-ticker.test.ts',
  'lab/kit/servers.test.ts',
  'lab/redis/ioredis-client.test.ts',
  'lab/contract/wrong-stores.test.ts',
  'lab/mysql/lease-lost-answers.test.ts',
  'lab/hostile/on-rabbitmq.test.ts',
  'lab/pg/pooler.test.ts',
  'lab/cli/postgres.test.ts',
  'lab/kafka/unclean-election.test.ts',
  'lab/kafka/three-brokers.test.ts',
  'lab/rabbitmq/broker-restart.test.ts',
  'lab/kafka/leaderless.test.ts',
  'lab/kafka/checkup.test.ts',
  'lab/kafka/frozen.test.ts',
  'test/cli/usage.test.ts',
  'test/cli/redis.test.ts',
  'lab/replay/limits.test.ts',
  'test/kafka/retry-topics.test.ts',
  'lab/mysql/leftovers.test.ts',
  'lab/platformatic-kafka/contract.test.ts',
  'test/observability/rules.test.ts',
  'test/cli/mysql.test.ts',
  'test/cli/dashboard.test.ts',
  'lab/replay/incidents.test.ts',
  'lab/replay/page.test.ts',
  'test/kafka/contract.test.ts',
  'test/pg/inbox.test.ts',
  'test/mysql/inbox.test.ts',
  'lab/observability/first-steps.test.ts',
  'test/once/stores.test.ts',
  'lab/once/lost-runs.test.ts',
  'test/replay/queue.test.ts',
  'test/dashboard/numbers.test.ts',
  'test/pg/lease.test.ts',
  'lab/rabbitmq/cuts.test.ts',
  'test/redis/store.test.ts',
  'test/security/refusals.test.ts',
  'test/mysql/lease.test.ts',
  'test/rabbitmq/signals/stop.test.ts',
  'test/pg/leftovers.test.ts',
  'test/otel/instrumentations.test.ts',
  'test/rabbitmq/contract.test.ts',
  'test/kafka/signals/stop.test.ts',
  'test/dashboard/servers.test.ts',
  'test/cli/quick-starts.test.ts',
  'test/cli/inspect-at.test.ts',
  'test/kafka/cut-off.test.ts',
  'test/rabbitmq/cut-off.test.ts',
  'test/cli/console-pages.test.ts',
  'test/redis/admin.test.ts',
  'test/dashboard/browser.test.ts',
  'test/kafka/run.test.ts',
  'lab/mysql/transaction.test.ts',
  'test/kafka/drop-in.test.ts',
  'test/cli/inspect.test.ts',
  'test/mysql/guards.test.ts',
  'test/kafka/topic-changes.test.ts',
  'lab/mysql/keys.test.ts',
  'test/rabbitmq/run.test.ts',
  'test/unit/kafka/offsets.test.ts',
  'test/incidents/incidents.test.ts',
  'test/pg/inbox-sequences.test.ts',
  'test/kafka/replay.test.ts',
  'test/unit/kafka/first-start.test.ts',
  'test/rabbitmq/replay-read.test.ts',
  'test/counts/postgres.test.ts',
  'test/pg/offsets-faults.test.ts',
  'test/rabbitmq/leftovers.test.ts',
  'test/nestjs/rabbitmq.test.ts',
  'lab/stores/inbox-batches.test.ts',
]

function placeOf({ path }) {
  const at = SLOWEST.findIndex((file) => path.endsWith(`/${file}`))
  return at === -1 ? SLOWEST.length : at
}

/** Here, because here jest tells which tests it is about to run. Where npm fails, those tests fail, and the others run. */
function haveWhatOrmsNeed(tests) {
  if (!tests.some(({ path }) => /[/\\]examples[/\\]orm[/\\]/.test(path))) return
  try {
    haveOwnPackages('examples/orm')
  } catch (error) {
    console.error(error.message)
  }
}

module.exports = class SlowestFirst extends Sequencer {
  #onlyLists

  constructor(options) {
    super(options)
    this.#onlyLists = options.globalConfig.listTests
  }

  sort(tests) {
    if (!this.#onlyLists) haveWhatOrmsNeed(tests)
    return bySize.call(this, tests).toSorted((one, other) => placeOf(one) - placeOf(other))
  }

  /** A part of CI (.ci/run): each part gets as many of the slowest as the others, 1 2 3 3 2 1 1 2 3. */
  shard(tests, { shardIndex, shardCount }) {
    const inOrder = tests.toSorted((one, other) => placeOf(one) - placeOf(other) || (one.path < other.path ? -1 : 1))
    return inOrder.filter((_, at) => {
      const turn = at % (2 * shardCount)
      return (turn < shardCount ? turn : 2 * shardCount - 1 - turn) === shardIndex - 1
    })
  }
}

module.exports.SLOWEST = SLOWEST
