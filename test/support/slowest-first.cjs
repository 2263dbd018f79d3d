const { createRequire } = require('node:module')

// Part of jest, and not of what the package names.
const { default: Sequencer } = createRequire(require.resolve('jest'))('@jest/test-sequencer')

/** By the times of an earlier run, where there are some. */
const { sort: bySize } = Sequencer.prototype

/**
 * What takes longest, in that order. Where nobody has run the tests before, as in CI, jest knows no times and goes by the sizes of
 * files: one that only calls a contract would come last, and the run would wait for it alone.
 */
const SLOWEST = [
  'test/demo/kafka.test.ts',
  'test/sim/sim.test.ts',
  'test/chaos/kafka.test.ts',
  'test/demo/embedded.test.ts',
  'test/demo/rabbitmq.test.ts',
  'test/support/server-versions.test.ts',
  'test/package/stranger.test.ts',
  'test/chaos/rabbitmq.test.ts',
  'test/adapters/kafkajs-offsets-strategy.test.ts',
  'test/hostile/on-memory.test.ts',
  'test/cli/postgres.test.ts',
  'test/demo/memory.test.ts',
  'test/support/servers.test.ts',
  'test/hostile/on-kafka.test.ts',
  'test/adapters/pg-lease.test.ts',
]

function placeOf({ path }) {
  const at = SLOWEST.findIndex((file) => path.endsWith(`/${file}`))
  return at === -1 ? SLOWEST.length : at
}

module.exports = class SlowestFirst extends Sequencer {
  sort(tests) {
    return bySize.call(this, tests).toSorted((one, other) => placeOf(one) - placeOf(other))
  }
}
