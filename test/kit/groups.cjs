const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { tmpdir } = require('node:os')
const path = require('node:path')
const { SLOWEST } = require('./slowest-first.cjs')

// Parts of jest, and not of what the package names.
const ofJest = createRequire(require.resolve('jest'))
const { default: TestRunner } = ofJest('jest-runner')
const { formatResultsErrors } = ofJest('jest-message-util')

/** Of so many files: a person who runs fewer of them waits for none of the others. */
const FROM_FILES = 20

/** Files of a group. Tests of servers take longer, and the last group should not keep the others waiting. */
const UNIT_FILES = 24
const SERVER_FILES = 6

/** What replaces a module does so for all files that share it. */
const REPLACES_MODULES = /\bjest\.mock\(|kit\/tables-read/

/**
 * Runs the short test files of a folder as one, in groups: jest gives each file modules of its own, and loading the same three hundred
 * again took a third of the time. What happened is told file by file, as without groups. Files that take long run alone, and so does
 * each file of a run by `-t`.
 */
module.exports = class Groups {
  supportsEventEmitters = true
  #globalConfig
  #runner
  #fromFiles
  /** Tests of each group, by the path of the program that runs them. */
  #groups = new Map()

  constructor(globalConfig, context, { fromFiles = FROM_FILES } = {}) {
    this.#globalConfig = globalConfig
    this.#runner = new TestRunner(globalConfig, context)
    this.#fromFiles = globalConfig.testNamePattern ? Number.POSITIVE_INFINITY : fromFiles
  }

  async runTests(tests, watcher, options) {
    if (tests.length < this.#fromFiles) return this.#runner.runTests(tests, watcher, options)
    const folder = mkdtempSync(path.join(tmpdir(), 'consume-once-groups-'))
    try {
      await this.#runner.runTests(this.#grouped(tests, folder), watcher, options)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  /** Each group comes when the first of its files would. */
  #grouped(tests, folder) {
    const inOrder = []
    const open = new Map()
    for (const test of tests) {
      const { of, most } = groupOf(test)
      const group = open.get(of)
      if (most === 1) inOrder.push(test)
      else if (group !== undefined && group.length < most) group.push(test)
      else {
        const program = path.join(folder, `${inOrder.length}.cjs`)
        inOrder.push({ ...test, path: program })
        open.set(of, [test])
        this.#groups.set(program, open.get(of))
      }
    }
    for (const [program, members] of this.#groups)
      writeFileSync(program, programOf(members, this.#globalConfig.testTimeout))
    return inOrder
  }

  on(event, listener) {
    const membersOf = (file) => this.#groups.get(file)
    const heard = {
      'test-file-start': async ([test]) => {
        for (const member of membersOf(test.path) ?? [test]) await listener([member])
      },
      'test-file-failure': async ([test, error]) => {
        for (const member of membersOf(test.path) ?? [test]) await listener([member, error])
      },
      'test-file-success': async ([test, result]) => {
        const members = membersOf(test.path)
        if (members === undefined) return listener([test, result])
        for (const [at, member] of members.entries()) await listener([member, this.#partOf(result, member, at === 0)])
      },
      // Of a test, told by the path of its file, and for reporters that show each as it ends.
      'test-case-start': ([file, start]) => (membersOf(file) === undefined ? listener([file, start]) : undefined),
      'test-case-result': ([file, result]) => (membersOf(file) === undefined ? listener([file, result]) : undefined),
    }
    return this.#runner.on(event, heard[event] ?? listener)
  }

  /** What one file of a group came to. What is known of the group alone is told with its first file. */
  #partOf(result, { path: file, context }, isFirst) {
    const testResults = result.testResults
      .filter(({ ancestorTitles }) => ancestorTitles[0] === file)
      .map((one) => ({
        ...one,
        ancestorTitles: one.ancestorTitles.slice(1),
        fullName: one.fullName.slice(file.length + 1),
      }))
    const count = (...statuses) => testResults.filter(({ status }) => statuses.includes(status)).length
    const runtime = testResults.reduce((sum, { duration }) => sum + (duration ?? 0), 0)
    const { config } = context
    return {
      ...result,
      testFilePath: file,
      testResults,
      numFailingTests: count('failed'),
      numPassingTests: count('passed'),
      numPendingTests: count('pending', 'skipped', 'disabled'),
      numTodoTests: count('todo'),
      failureMessage:
        result.testExecError === undefined
          ? formatResultsErrors(testResults, config, this.#globalConfig, file)
          : result.failureMessage,
      perfStats: { ...result.perfStats, runtime, slow: runtime / 1_000 > config.slowTestThreshold },
      ...(isFirst ? {} : { console: undefined, snapshot: nothingOf(result.snapshot) }),
    }
  }
}

function groupOf({ path: absolute, context }) {
  const file = path.relative(context.config.rootDir, absolute)
  if (SLOWEST.includes(file) || REPLACES_MODULES.test(readFileSync(absolute, 'utf8'))) return { of: file, most: 1 }
  return file.startsWith('test/unit/')
    ? { of: 'test/unit', most: UNIT_FILES }
    : { of: path.dirname(file), most: SERVER_FILES }
}

function nothingOf(snapshot) {
  return { ...snapshot, added: 0, matched: 0, unmatched: 0, updated: 0, unchecked: 0, uncheckedKeys: [] }
}

/**
 * A file that cannot be loaded fails alone. Time limits are read once for all, when the first test begins: they get the longest.
 * @param limit - of a file that sets none, in ms
 */
function programOf(members, limit) {
  return `const LIMIT = Symbol.for('TEST_TIMEOUT_SYMBOL')
const limits = []
for (const path of ${JSON.stringify(members.map(({ path: file }) => file))}) {
  globalThis[LIMIT] = undefined
  describe(path, () => {
    try {
      require(path)
    } catch (error) {
      it('is loaded', () => { throw error })
    }
  })
  limits.push(globalThis[LIMIT] ?? ${limit})
}
globalThis[LIMIT] = Math.max(...limits)
`
}
