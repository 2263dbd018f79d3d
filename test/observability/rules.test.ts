import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { METRICS } from '../../src/signals/metrics.ts'
import { needPrometheus } from '../kit/servers/programs.ts'
import { labelsIn, namesIn } from './expressions.ts'

const FILE = resolve('observability/prometheus-alerts.yml')

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

const { groups } = parse(readFileSync(FILE, 'utf8')) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[]
}
const rules = groups.flatMap((group) => group.rules)

/** A series as promtool writes it: `0+1x60` is 0, 1, 2, … 60, one a minute. */
type Inputs = Readonly<Record<string, string>>

interface Case {
  readonly fires: Inputs
  /** When; the alert must be firing then. */
  readonly at: string
  /** The same alert stays quiet. */
  readonly quiet: Inputs
  /**
   * What an alert on a counter is about happened before the first scrape of a new instance: the series begins above 0,
   * or with a value more than it grows by. The alert fires here too.
   */
  readonly born?: Inputs
  /** `born` fires then. @defaultValue 3m */
  readonly bornAt?: string
}

const event = (name: string): string => `consume_once_events_total{consumer="sms", instance="a", event="${name}"}`
const lease = { 'consume_once_lease_seconds{consumer="sms"}': '30x30' }
const oldest = 'consume_once_oldest_unfinished_seconds{consumer="sms", destination="t", partition="0"}'
const age = (le: string): string => `consume_once_duplicate_age_seconds_bucket{consumer="sms", le="${le}"}`
const retention = { 'consume_once_retention_seconds{consumer="sms"}': '604800x200' }
const deliveries = 'consume_once_deliveries_total{consumer="sms", outcome="handled"}'
const duplicates = 'consume_once_duplicates_total{consumer="sms", found="store"}'
const holding = (events: string, over: string): Inputs => ({
  [event('holding')]: events,
  [event('hold-over')]: over,
  'consume_once_ready{consumer="sms", instance="a"}': '0x30',
})
const stalled = (events: string, over: string): Inputs => ({
  [event('stalled')]: events,
  [event('stall-over')]: over,
  'consume_once_ready{consumer="sms", instance="a"}': '0x30',
})

const CASES: Readonly<Record<string, Case>> = {
  ConsumeOnceMessagesParked: {
    fires: { 'consume_once_parked_messages{consumer="sms", reason="in-doubt"}': '0x5 2x20' },
    at: '20m',
    quiet: { 'consume_once_parked_messages{consumer="sms", reason="in-doubt"}': '0x20' },
  },
  ConsumeOnceMessagesGivenUp: {
    fires: { 'consume_once_given_up_messages{consumer="sms", reason="handler-failed"}': '0x5 97x20' },
    at: '20m',
    quiet: { 'consume_once_given_up_messages{consumer="sms", reason="handler-failed"}': '97x5 0x20' },
  },
  ConsumeOncePartitionsHeld: {
    fires: { 'consume_once_held_partitions{consumer="sms"}': '1x20' },
    at: '5m',
    quiet: { 'consume_once_held_partitions{consumer="sms"}': '0x20' },
  },
  ConsumeOnceNoProcess: {
    fires: { 'consume_once_live{consumer="sms", instance="a"}': '1x10 stale' },
    at: '20m',
    // One process has gone, another has taken over.
    quiet: {
      'consume_once_live{consumer="sms", instance="a"}': '1x10 stale',
      'consume_once_live{consumer="sms", instance="b"}': '_x10 1x20',
    },
  },
  ConsumeOnceBacklogGrows: {
    // The process that told it is another one after 30 minutes.
    fires: {
      'consume_once_backlog_messages{consumer="sms", destination="t", instance="a"}': '0+100x30 stale',
      'consume_once_backlog_messages{consumer="sms", destination="t", instance="b"}': '_x30 3100+100x60',
    },
    at: '60m',
    // A burst that is worked off, then a backlog that stays.
    quiet: {
      'consume_once_backlog_messages{consumer="sms", destination="t", instance="a"}': '0x20 5000-100x40 1000x30',
    },
  },
  ConsumeOnceOutboxWaits: {
    fires: { 'consume_once_outbox_oldest_seconds{consumer="sms", destination="t"}': '0+60x30' },
    at: '20m',
    quiet: { 'consume_once_outbox_oldest_seconds{consumer="sms", destination="t"}': '0 30 0 30 0x20' },
  },
  ConsumeOnceOutboxParked: {
    fires: { 'consume_once_outbox_parked{consumer="sms", destination="t"}': '0x5 2x20' },
    at: '20m',
    quiet: { 'consume_once_outbox_parked{consumer="sms", destination="t"}': '0x20' },
  },
  ConsumeOnceHandlerStuck: {
    fires: { 'consume_once_live{consumer="sms", instance="a"}': '1x5 0x20' },
    at: '10m',
    quiet: { 'consume_once_live{consumer="sms", instance="a"}': '1x20' },
  },
  ConsumeOnceInvariantBroken: {
    fires: { [event('invariant-broken')]: '0x5 1x20' },
    at: '14m',
    quiet: { [event('invariant-broken')]: '1x30' },
    born: { [event('invariant-broken')]: '1x20' },
  },
  ConsumeOnceStoreDown: {
    fires: { 'consume_once_store_up{consumer="sms", store="redis-lease"}': '1x5 0x20' },
    at: '10m',
    quiet: { 'consume_once_store_up{consumer="sms", store="redis-lease"}': '1x20' },
  },
  ConsumeOnceStoreUnread: {
    // Two processes: one of them still gets answers in the quiet case.
    fires: {
      'consume_once_store_reading_age_seconds{consumer="sms", instance="a"}': '0+60x90',
      'consume_once_store_reading_age_seconds{consumer="sms", instance="b"}': '0+60x90',
    },
    at: '70m',
    quiet: {
      'consume_once_store_reading_age_seconds{consumer="sms", instance="a"}': '0+60x90',
      'consume_once_store_reading_age_seconds{consumer="sms", instance="b"}': '15x90',
    },
  },
  ConsumeOnceStalled: { fires: stalled('0x5 1x20', '0x30'), at: '10m', quiet: stalled('1x20', '1x20') },
  ConsumeOnceHolding: { fires: holding('0x5 1x20', '0x30'), at: '10m', quiet: holding('1x20', '1x20') },
  ConsumeOnceLaneStuck: { fires: { [oldest]: '0+60x20', ...lease }, at: '5m', quiet: { [oldest]: '80x20', ...lease } },
  ConsumeOnceNotReady: {
    fires: { 'consume_once_ready{consumer="sms", instance="a"}': '0x30' },
    at: '11m',
    quiet: { 'consume_once_ready{consumer="sms", instance="a"}': '0x5 1x30' },
  },
  ConsumeOnceCopiesNotConfirmed: {
    fires: { [event('publish-failed')]: '0+2x30' },
    at: '15m',
    quiet: { [event('publish-failed')]: '3x30' },
    born: { [event('publish-failed')]: '3+2x30' },
    bornAt: '5m',
  },
  ConsumeOnceDeadLetters: {
    fires: {
      'consume_once_deliveries_total{consumer="sms", destination="t", outcome="dead-lettered", reason="schema"}':
        '0x5 1x20',
    },
    at: '14m',
    quiet: {
      'consume_once_deliveries_total{consumer="sms", destination="t", outcome="handled"}': '0+9x20',
      'consume_once_deliveries_total{consumer="sms", destination="t", outcome="dead-lettered", reason="schema"}':
        '97x20',
    },
    born: {
      'consume_once_deliveries_total{consumer="sms", destination="t", outcome="dead-lettered", reason="no-id"}':
        '97x20',
    },
  },
  ConsumeOnceInDoubt: {
    fires: { 'consume_once_in_doubt_total{consumer="sms", policy="rerun"}': '0x5 3x20' },
    at: '14m',
    quiet: { 'consume_once_in_doubt_total{consumer="sms", policy="rerun"}': '3x20' },
    born: { 'consume_once_in_doubt_total{consumer="sms", policy="rerun"}': '3x20' },
  },
  ConsumeOnceLeaseLost: {
    fires: { [event('lease-lost')]: '0x5 1x20' },
    at: '14m',
    quiet: { [event('lease-lost')]: '1x20' },
    born: { [event('lease-lost')]: '1x20' },
  },
  ConsumeOnceRetentionTooShort: {
    // One of 10 duplicates a minute comes five days after its mark: more than half of seven.
    fires: { [age('86400')]: '0+9x200', [age('432000')]: '0+10x200', [age('+Inf')]: '0+10x200', ...retention },
    at: '90m',
    quiet: { [age('86400')]: '0+10x200', [age('432000')]: '0+10x200', [age('+Inf')]: '0+10x200', ...retention },
    // A restart in which all old duplicates came before the first scrape.
    born: { [age('86400')]: '9x200', [age('432000')]: '10x200', [age('+Inf')]: '10x200', ...retention },
    bornAt: '15m',
  },
  ConsumeOnceBeyondRetention: {
    fires: { 'consume_once_beyond_retention_total{consumer="sms", policy="run"}': '0x5 1x20' },
    at: '14m',
    quiet: { 'consume_once_beyond_retention_total{consumer="sms", policy="run"}': '4x20' },
    born: { 'consume_once_beyond_retention_total{consumer="sms", policy="run"}': '4x20' },
  },
  ConsumeOnceUnprotectedRuns: {
    fires: { 'consume_once_unprotected_runs_total{consumer="sms"}': '0x5 7x20' },
    at: '14m',
    quiet: { 'consume_once_unprotected_runs_total{consumer="sms"}': '7x20' },
    born: { 'consume_once_unprotected_runs_total{consumer="sms"}': '7x20' },
  },
  ConsumeOnceObservedProblem: {
    fires: { 'consume_once_observed_total{consumer="sms", verdict="conflict"}': '0x5 1x80' },
    at: '62m',
    quiet: {
      'consume_once_observed_total{consumer="sms", verdict="duplicate"}': '0+9x80',
      'consume_once_observed_total{consumer="sms", verdict="conflict"}': '2x80',
    },
    born: { 'consume_once_observed_total{consumer="sms", verdict="conflict"}': '2x40' },
  },
  ConsumeOnceDuplicatesJump: {
    fires: { [deliveries]: '0+100x200', [duplicates]: '0+1x120 130+20x80' },
    at: '150m',
    quiet: { [deliveries]: '0+100x200', [duplicates]: '0+20x200' },
  },
  ConsumeOncePurgeFails: {
    fires: { [event('purge-failed')]: '0+1x60' },
    at: '30m',
    quiet: { [event('purge-failed')]: '0x5 1x60' },
    born: { [event('purge-failed')]: '2x60' },
  },
}

const COUNTING = /\b(?:increase|rate)\(/g

/**
 * Whether it counts what happens. `ConsumeOnceDuplicatesJump` compares shares of the traffic instead: what each start
 * of a process redelivers is no jump.
 */
function counts(expr: string): boolean {
  return expr.match(COUNTING) !== null && !expr.includes('consume_once_duplicates_total')
}

const BORN_AT = '3m'

const AGAIN: readonly Question[] = ['14m', '40m', '50m'].map((at) => ({
  inputs: { [event('lease-lost')]: '1x15 _x20 1x30' },
  at,
  alertname: 'ConsumeOnceLeaseLost',
}))

describe('observability/prometheus-alerts.yml', () => {
  let promtool = ''
  const folder = mkdtempSync(join(tmpdir(), 'consume-once-rules-'))
  const answers = new Map<string, string>()
  beforeAll(async () => {
    ;({ promtool } = await needPrometheus())
    askPromtool([...rules.flatMap(questionsOf), ...AGAIN])
  }, 300_000)
  afterAll(() => rmSync(folder, { recursive: true }))

  it('is what promtool accepts', () => {
    expect(execFileSync(promtool, ['check', 'rules', FILE], { encoding: 'utf8' })).toContain(
      `${rules.length} rules found`,
    )
  })

  it('has a case for each alert, and each says whom it concerns and what to do first', () => {
    expect(rules.map(({ alert }) => alert)).toEqual(Object.keys(CASES))
    for (const { labels, annotations } of rules) {
      expect(['info', 'warning', 'critical']).toContain(labels['severity'])
      expect(annotations['summary']).toContain('{{ $labels.consumer }}')
      expect(annotations['first_step']).toMatch(/\S{3}.*\.$/)
    }
  })

  it('asks only for metrics of the table and for their labels', () => {
    const labels = new Set([...METRICS.flatMap((metric) => metric.labels), 'instance', 'le'])
    for (const { alert, expr } of rules) {
      expect([alert, namesIn(expr).filter((name) => !METRICS.some((metric) => metric.name === name))]).toEqual([
        alert,
        [],
      ])
      expect([alert, labelsIn(expr).filter((label) => !labels.has(label))]).toEqual([alert, []])
    }
  })

  it.each(rules)('$alert fires when it must, and only then', ({ alert }) => {
    const { fires, at, quiet } = CASES[alert] ?? { fires: {}, at: '', quiet: {} }
    // promtool compares all labels and annotations of what fires, so a failure tells what fired.
    const told = promtoolSays(fires, at, alert)
    expect(told).toMatch(new RegExp(`got:\\[[^]*Labels:\\{[^]*alertname="${alert}"`))
    expect(told).toMatch(/consumer="sms"/)
    expect(promtoolSays(quiet, at, alert)).toContain('SUCCESS')
  })

  it.each(rules.filter(({ expr }) => counts(expr)))('$alert fires for a series that begins above 0', ({ alert }) => {
    const { born, bornAt = BORN_AT } = CASES[alert] ?? {}
    expect(promtoolSays(born ?? {}, bornAt, alert)).toMatch(new RegExp(`got:\\[[^]*Labels:\\{[^]*alertname="${alert}"`))
  })

  it('counts with a series that begins above 0, wherever it counts', () => {
    for (const { alert, expr } of rules.filter((rule) => counts(rule.expr))) {
      const both = [...expr.matchAll(/\((\S+) unless \1 offset (\w+)\)\s+or increase\(\1\[\2\]\)/g)]
      expect([alert, both.length]).toEqual([alert, expr.match(COUNTING)?.length])
    }
  })

  it('is told again of an old count when Prometheus was away, and not for longer than its window', () => {
    const told = AGAIN.map(({ inputs, at, alertname }) => promtoolSays(inputs, at, alertname))
    expect(told.map((one) => one.includes('SUCCESS'))).toEqual([true, false, true])
  })

  /** What promtool says when it expects that nothing fires. */
  function promtoolSays(inputs: Inputs, at: string, alertname: string): string {
    const told = answers.get(fileOf({ inputs, at, alertname }))
    if (told === undefined) throw new Error(`${alertname}: promtool was not asked`)
    return told
  }

  function fileOf(question: Question): string {
    return join(folder, `${createHash('sha256').update(JSON.stringify(question)).digest('hex')}.yml`)
  }

  /** All at once: each start of promtool takes longer than its answer. */
  function askPromtool(questions: readonly Question[]): void {
    for (const question of questions) {
      const { inputs, at, alertname } = question
      const series = Object.entries(inputs).map(([name, values]) => ({ series: name, values }))
      const test = {
        interval: '1m',
        input_series: series,
        alert_rule_test: [{ eval_time: at, alertname, exp_alerts: [] }],
      }
      writeFileSync(fileOf(question), JSON.stringify({ rule_files: [FILE], evaluation_interval: '1m', tests: [test] }))
    }
    // In one file: what fails is told on stderr, below the name of its file on stdout.
    const log = join(folder, 'told')
    const into = openSync(log, 'w')
    spawnSync(promtool, ['test', 'rules', ...questions.map(fileOf)], { stdio: ['ignore', into, into] })
    closeSync(into)
    const [, ...parts] = readFileSync(log, 'utf8').split(/^Unit Testing: +/m)
    for (const part of parts) answers.set(part.slice(0, part.indexOf('\n')).trim(), part)
  }
})

interface Question {
  readonly inputs: Inputs
  readonly at: string
  readonly alertname: string
}

function questionsOf({ alert: alertname, expr }: Rule): readonly Question[] {
  const { fires = {}, at = '', quiet = {}, born = {}, bornAt = BORN_AT } = CASES[alertname] ?? {}
  const both = [fires, quiet].map((inputs) => ({ inputs, at, alertname }))
  return counts(expr) ? [...both, { inputs: born, at: bornAt, alertname }] : both
}
