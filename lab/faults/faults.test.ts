import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { backends, type Backend } from '../../test/kit/backends.ts'
import { SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { CELLS } from './cells/all.ts'
import { PLANTED } from './cells/planted.ts'
import type { CellRun } from './run-cell.ts'
import { explain } from './report.ts'
import { runCells } from './run-cells.ts'

/** The part of `npm run faults` that a pull request runs: the steps at which strategies differ, and each kind of fault once. */
const SHARE = [
  'F1.S1.lease-rerun.kafka',
  'F1.S3.inbox.rabbitmq',
  'F1.S3.lease-keyed.kafka',
  'F1.S3.lease-park.rabbitmq',
  'F1.S4.lease-rerun.rabbitmq',
  'F1.S5.inbox.kafka',
  'F1.S6.lease-rerun.rabbitmq',
  'F2.S4.lease-keyed.rabbitmq',
  'F3.S4.lease-rerun.kafka',
  'F4.S4.inbox.rabbitmq',
  'F6.S3.lease-rerun.rabbitmq',
  'F12.S6.inbox.kafka',
  'F13.S3.inbox.kafka',
  'F15.hangs.lease-park.rabbitmq',
  'F17.in-flight.inbox.kafka',
  'F17.in-flight.lease-rerun.kafka',
  'F17.in-flight.lease-rerun.rabbitmq',
  'F18.after-effect.lease-rerun.rabbitmq',
  'F19.other-type.lease-park.rabbitmq',
]
const AT_ONCE = 6

const NEEDED: readonly Backend[] = ['kafka', 'rabbitmq', 'postgres', 'redis']
const describeOnServers = NEEDED.every((name) => backends.has(name)) ? describe : describe.skip

describeOnServers('a fault at one step of a message', () => {
  const runs = new Map<string, CellRun>()

  beforeAll(async () => {
    const chosen = CELLS.filter(({ name }) => SHARE.includes(name))
    await runCells([...chosen, ...PLANTED.map(({ cell }) => cell)], AT_ONCE, (run) => runs.set(run.cell.name, run))
  }, SERVER_WITHIN_MS)
  afterAll(() => runs.clear())

  it.each(SHARE)('%s has an expected outcome', (name) => {
    const run = runs.get(name)
    expect(run).toBeDefined()
    if (run !== undefined && run.failures.length > 0) throw new Error(explain(run))
  })

  it.each(PLANTED)('the checker finds the bug planted in $cell.name', ({ cell, finds }) => {
    const { anomalies = new Map(), admitted = new Set() } = runs.get(cell.name)?.verdict ?? {}
    const found = [...anomalies.keys()].filter((anomaly) => !admitted.has(anomaly))
    expect(found).toEqual(expect.arrayContaining([...finds]))
  })
})
