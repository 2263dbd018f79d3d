import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { record, unrecorded } from '../../../bench/record.ts'
import type { Report, ScenarioReport } from '../../../bench/report.ts'
import type { Scenario, Suite } from '../../../bench/suite.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bench-record-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const machine = { node: 'v1', system: 'S', processor: 'P', cores: 1, memoryGb: 1, versions: {} }
const reportWith = (...scenarios: readonly ScenarioReport[]): Report => ({
  machine,
  suite: 's',
  smoke: false,
  scenarios,
})
const scenario = (name: string, commit: string): ScenarioReport => ({
  name,
  title: name,
  run: { at: '2026-01-01T00:00:00.000Z', commit, load: { start: 1, end: 2 } },
  repetitions: 1,
  contenders: [],
  ratios: [],
  bounds: [],
})
const suiteOf = (name: string, ...scenarios: readonly string[]): Suite => ({
  name,
  packages: [],
  smoke: 1,
  scenarios: scenarios.map((one): Scenario => ({
    name: one,
    title: one,
    messages: 1,
    repetitions: 1,
    needs: [],
    contenders: [],
    ratios: [],
  })),
})

it('keeps what was recorded of scenarios that did not run, in the order of the suite, and drops those that are gone', () => {
  record(reportWith(scenario('one', 'a'), scenario('two', 'a'), scenario('gone', 'a')), ['one', 'two', 'gone'], folder)
  record(reportWith(scenario('three', 'b'), scenario('one', 'b')), ['one', 'two', 'three'], folder)
  const { scenarios } = JSON.parse(readFileSync(join(folder, 's.json'), 'utf8')) as Report
  expect(scenarios.map(({ name, run }) => [name, run.commit])).toEqual([
    ['one', 'b'],
    ['two', 'a'],
    ['three', 'b'],
  ])
})

describe('what is still to be recorded', () => {
  const suites = [suiteOf('s', 'one', 'two', 'three'), suiteOf('t', 'one')]
  const names = (recorded: readonly Report[], commit: string): readonly string[] =>
    unrecorded(suites, new Map(recorded.map((report) => [report.suite, report])), commit).map(
      ({ suite, scenario: { name } }) => `${suite.name} ${name}`,
    )

  it('is every scenario where nothing was recorded, in the order of the suites', () => {
    expect(names([], 'a')).toEqual(['s one', 's two', 's three', 't one'])
  })

  it('is what has no run of this commit: an interrupted recording goes on', () => {
    expect(names([reportWith(scenario('one', 'a'), scenario('two', 'b'))], 'a')).toEqual(['s two', 's three', 't one'])
  })

  it('is not what was recorded with changes on top of this commit', () => {
    expect(names([reportWith(scenario('one', 'a-changed'))], 'a')).toContain('s one')
  })
})
