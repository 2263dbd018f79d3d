const { AsyncLocalStorage } = require('node:async_hooks')
const { createRequire } = require('node:module')

// Part of jest, and not of what the package names.
const { TestEnvironment } = createRequire(require.resolve('jest'))('jest-environment-node')

const STARTED = Symbol.for('consume-once: storages that were started')

/** Of this process, whichever context asks. */
const started = (AsyncLocalStorage[STARTED] ??= watchStarts())

function watchStarts() {
  const storages = new Set()
  const of = AsyncLocalStorage.prototype
  for (const name of ['run', 'enterWith']) {
    const method = of[name]
    of[name] = function (...given) {
      storages.add(this)
      return method.apply(this, given)
    }
  }
  return storages
}

/**
 * Where a test file runs: on Node, and without the storages of the files before it in the same process. jest-circus starts one in each
 * file and leaves it on. Before Node 24 each promise carries all that are on: after a hundred files promises took five times as
 * long, and a worker held 3 GB.
 */
module.exports = class extends TestEnvironment {
  #before = new Set(started)

  async teardown() {
    await super.teardown()
    for (const storage of started) {
      if (this.#before.has(storage)) continue
      storage.disable()
      started.delete(storage)
    }
  }
}
