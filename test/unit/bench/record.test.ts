import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { currentCommit, record } from '../../../bench/record.ts'
import type { Report, ScenarioReport } from '../../../bench/report.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bench-record-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const machine = { node: 'v1', system: 'S', processor: 'P', cores: 1, memoryGb: 1, versions: {} }
const reportWith = (...scenarios: readonly ScenarioReport[]): Report => ({ machine, suite: 's', scenarios })
const scenario = (name: string, commit: string): ScenarioReport => ({
  name,
  title: name,
  run: { at: '2026-01-01T00:00:00.000Z', commit, load: { start: 1, end: 2 } },
  repetitions: 1,
  contenders: [],
  ratios: [],
  bounds: [],
})

it('keeps what was recorded of scenarios that did not run, in the order of the suite, and drops those that are gone', () => {
  record(reportWith(scenario('one', 'a'), scenario('two', 'a'), scenario('gone', 'a')), ['one', 'two', 'gone'], folder)
  const file = record(reportWith(scenario('three', 'b'), scenario('one', 'b')), ['one', 'two', 'three'], folder)
  const { scenarios } = JSON.parse(readFileSync(file, 'utf8')) as Report
  expect(scenarios.map(({ name, run }) => [name, run.commit])).toEqual([
    ['one', 'b'],
    ['two', 'a'],
    ['three', 'b'],
  ])
})

it('knows its commit', () => {
  expect(currentCommit()).toMatch(/^[0-9a-f]{12}(-changed)?$/)
})
