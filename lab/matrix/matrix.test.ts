import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { filesOf, GROUPS } from './groups.ts'
import { outcomesOf, type SuiteOutcome } from './outcome.ts'
import { isAllWell, pageOf } from './page.ts'
import { merged, type RecordedColumn, type RecordedGroup, type Run } from './recorded.ts'
import { runSuites } from './run-suites.ts'

const OLD: Run = { at: '2026-11-22T08:00:00Z', commit: 'aaaaaaaaaaaa', node: 'v20.20.2', system: 'linux x64' }
const NEW: Run = { ...OLD, at: '2026-11-26T08:00:00Z', commit: 'bbbbbbbbbbbb' }

describe('the groups of test files', () => {
  it.each([
    ['redis', 'test/redis/store'],
    ['redis', 'lab/redis/durability'],
    ['pglite', 'test/pg/pglite-x'],
    ['postgres', 'test/pg/inbox'],
    ['pglite', 'lab/pg/pglite-inbox'],
    ['mariadb', 'test/mysql/inbox'],
    ['mariadb', 'lab/mysql/crash'],
    ['postgres', 'examples/orm/test/orm-traps'],
    ['mariadb', 'examples/orm/test/orm-mysql'],
    ['nobody', 'test/kafka/run'],
  ])('%s takes %s', (group, file) => {
    const takers = GROUPS.filter((one) => filesOf(one, [`${file}.test.ts`]).length > 0)
    expect(takers.map(({ name }) => name)).toEqual(group === 'nobody' ? [] : [group])
  })

  it('take only tests', () => {
    const others = ['test/pg/support.ts', 'test/mysql/harness.ts', 'test/contract/map-store.ts']
    expect(GROUPS.flatMap((group) => filesOf(group, others))).toEqual([])
  })

  it('leave out no store: each test file in a folder of stores is in one group', () => {
    const found = GROUPS.flatMap((group) => filesOf(group))
    expect(new Set(found).size).toBe(found.length)
    const folders = ['redis', 'pg', 'mysql', 'stores', 'contract']
    const ofStores = [
      'examples/orm/test',
      ...['test', 'test/unit', 'lab'].flatMap((tree) => folders.map((folder) => `${tree}/${folder}`)),
    ]
      .filter((folder) => existsSync(folder))
      .flatMap((folder) => readdirSync(folder).map((file) => `${folder}/${file}`))
    expect(ofStores.filter((file) => file.endsWith('.test.ts') && !found.includes(file))).toEqual([])
  })
})

describe('the outcome of a suite', () => {
  it('counts what passed, failed and was skipped, for whatever reason', () => {
    const assertionResults = tests('passed', 'failed', 'pending', 'passed', 'todo')
    const report = { testResults: [{ name: '/at/test/pg/a.test.ts', status: 'failed', assertionResults }] }
    expect(outcomesOf(['test/pg/a.test.ts'], report)).toEqual([
      { suite: 'a', passed: 2, failed: 1, skipped: 2, failures: ['law 1'], skippedFor: ['no reason given'] },
    ])
  })

  it('lists each reason for skipping once', () => {
    const named = ['a (not here: one connection)', 'b (not here: one connection)', 'c (not run: no RabbitMQ 4.3)']
    const assertionResults = named.map((fullName) => ({ fullName, status: 'pending' }))
    const report = { testResults: [{ name: '/at/a.test.ts', status: 'passed', assertionResults }] }
    expect(outcomesOf(['a.test.ts'], report)).toMatchObject([{ skippedFor: ['one connection', 'no RabbitMQ 4.3'] }])
  })

  it('is a failure where a file could not be loaded, or was not run at all', () => {
    const report = { testResults: [{ name: '/at/b.test.ts', status: 'failed', assertionResults: [] }] }
    expect(outcomesOf(['b.test.ts', 'a.test.ts'], report)).toEqual([
      { suite: 'a', passed: 0, failed: 1, skipped: 0, failures: ['jest did not run it'], skippedFor: [] },
      { suite: 'b', passed: 0, failed: 1, skipped: 0, failures: ['jest could not load it'], skippedFor: [] },
    ])
  })

  it('comes from jest, which runs all of it whatever BACKENDS says', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'consume-once-matrix-'))
    const before = process.env['BACKENDS']
    process.env['BACKENDS'] = 'memory'
    try {
      const files = ['test/unit/core/key.test.ts', 'test/unit/core/none.test.ts']
      const outcomes = await runSuites(files, { env: {}, folder, words: 'ignore' })
      expect(outcomes).toEqual([
        { suite: 'key', passed: expect.any(Number), failed: 0, skipped: 0, failures: [], skippedFor: [] },
        { suite: 'none', passed: 0, failed: 1, skipped: 0, failures: ['jest could not load it'], skippedFor: [] },
      ])
      expect(outcomes[0]?.passed).toBeGreaterThan(0)
    } finally {
      if (before === undefined) delete process.env['BACKENDS']
      else process.env['BACKENDS'] = before
      rmSync(folder, { recursive: true })
    }
  })
})

describe('the page', () => {
  const good: SuiteOutcome = {
    suite: 'x-store',
    passed: 5,
    failed: 0,
    skipped: 2,
    failures: [],
    skippedFor: ['not yet'],
  }
  const bad: SuiteOutcome = {
    suite: 'x-faults',
    passed: 1,
    failed: 1,
    skipped: 0,
    failures: ['keeps its mark'],
    skippedFor: [],
  }

  it('shows what passed on which version, what failed and why, and what could not run', () => {
    const missing = { name: 'x 3', result: { reason: 'Debian was\nnot reached' } }
    const groups = groupsOf(on('X 1.0.1', bad, good), on('X 2.0.0', good), missing)
    const page = pageOf({ groups }, { 'x-faults: keeps its mark': 'X 1 forgets it.' })
    expect(page.slice(page.indexOf('## X'), page.indexOf('\n## Brokers'))).toBe(`## X

Clients: x 6.0.0.

|  | X 1.0.1 | X 2.0.0 | x 3 |
| --- | --- | --- | --- |
| _run_ | 2026-11-22, aaaaaaaaaaaa, Node 20.20.2 on linux x64 | 2026-11-22, aaaaaaaaaaaa, Node 20.20.2 on linux x64 |  |
| x-faults | 1 passed, **1 failed** |  |  |
| x-store | 5 passed, 2 skipped | 5 passed, 2 skipped |  |
| **all** | 6 passed, **1 failed**, 2 skipped | 5 passed, 2 skipped | **not run** |

Skipped because: not yet.

Failed on X 1.0.1:

- x-faults: \`keeps its mark\`. X 1 forgets it.

Not run on x 3: Debian was not reached
`)
    expect(pageOf({ groups }, {})).toContain('`keeps its mark`. Not explained yet.')
  })

  it('says by how many commits it is older than the code', () => {
    const groups = groupsOf(on('X 1', good))
    const older = { on: '2026-11-27', since: { [OLD.at]: 150, [NEW.at]: 3 } }
    expect(pageOf({ groups, counted: older }, {})).toContain(
      'This page is older than the code.** The oldest run is of 2026-11-22; since then 150 commits have changed `src` or `adapters` (counted on 2026-11-27)',
    )
    expect(pageOf({ groups, counted: { on: '2026-11-27', since: { [OLD.at]: 0 } } }, {})).toContain(
      'No commit has changed',
    )
  })

  it('keeps what was not run again, with its date, and drops files that are gone', () => {
    const [before] = groupsOf(on('X 1', bad, good, { ...good, suite: 'x-gone' }), on('X 2', good))
    const again = { ...bad, passed: 2, failed: 0, failures: [], run: NEW }
    const now: RecordedGroup = {
      name: 'X',
      clients: [],
      columns: [{ name: 'x 1', result: { reported: 'X 1.0.2', outcomes: [again] } }],
    }
    const group = merged(before, now, ['x-faults', 'x-store'])
    expect(group.columns.map(({ name }) => name)).toEqual(['x 1', 'x 2'])
    const page = pageOf({ groups: [group] }, {})
    expect(page).toContain('| x-faults | 2 passed (2026-11-26) |  |')
    expect(page).toContain('| x-store | 5 passed, 2 skipped | 5 passed, 2 skipped |')
    expect(page).not.toContain('x-gone')
  })

  it('reports success only if nothing failed and everything ran', () => {
    expect(isAllWell(groupsOf(on('X 1', good)))).toBe(true)
    expect(isAllWell(groupsOf(on('X 1', good), on('X 2', bad)))).toBe(false)
    expect(isAllWell(groupsOf(on('X 1', good), { name: 'x 2', result: { reason: 'none' } }))).toBe(false)
  })
})

/** Statuses as jest reports them. */
function tests(...statuses: readonly string[]): { readonly fullName: string; readonly status: string }[] {
  return statuses.map((status, index) => ({ fullName: `law ${index}`, status }))
}

function on(reported: string, ...outcomes: readonly SuiteOutcome[]): RecordedColumn {
  return {
    name: reported.toLowerCase(),
    result: { reported, outcomes: outcomes.map((one) => ({ run: OLD, ...one })) },
  }
}

function groupsOf(...columns: readonly RecordedColumn[]): readonly RecordedGroup[] {
  return [{ name: 'X', clients: ['x 6.0.0'], columns }]
}
