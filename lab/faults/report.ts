import type { ProofPart, ProofTable } from '../proof/part.ts'
import { CELLS } from './cells/all.ts'
import { PLANTED } from './cells/planted.ts'
import { BROKERS, type BrokerName, type Cell, type FaultId } from './cell.ts'
import type { CellRun } from './run-cell.ts'
import { STEPS } from './moment.ts'
import { STRATEGIES, type Strategy } from './strategy.ts'

export function lineOf({ cell, observed, failures, seconds }: CellRun): string {
  const mark = failures.length === 0 ? 'ok  ' : 'FAIL'
  const line = `${mark} ${cell.name.padEnd(46)} ${observed.padEnd(14)}${seconds.toFixed(1)} s`
  return [line, ...failures.map((failure) => `       ${failure}`)].join('\n')
}

/** The failures, the whole history, and the command that repeats the cell. */
export function explain(run: CellRun): string {
  const { cell, failures, history } = run
  const [first] = history.events
  const events = history.events.map(({ at, proc, ...event }) => {
    return `    ${(at - (first?.at ?? at)).toFixed(1).padStart(9)} ${proc.padEnd(9)} ${JSON.stringify(event)}`
  })
  const planted = PLANTED.some((one) => one.cell.name === cell.name) ? '--planted ' : ''
  const again = `npm run faults -- ${planted}--only '${cell.name}'`
  return [cell.name, ...failures.map((failure) => `  ${failure}`), ...events, `  again: ${again}`].join('\n')
}

/** Explains the parts of a cell name, and the outcomes. */
export function legend(): string {
  const faults = Object.entries(FAULTS).map(([faultId, what]) => `  ${faultId.padEnd(4)} ${what}`)
  return [
    'A cell is fault.step-variant.strategy.broker, and what it must show: ' + OUTCOMES,
    'Steps: ' + STEP_NAMES.join(', '),
    'Faults:',
    ...faults,
  ].join('\n')
}

const OUTCOMES =
  '1 one effect; 1s one, what came again was settled as duplicate; B one, after the lease of an owner that was gone; ' +
  'D the effect twice; k called twice, accepted once; in doubt: parked for a person'

const STEP_NAMES: readonly string[] = [
  'S0 delivered',
  'S1 claim sent',
  'S2 claimed',
  'S3 effect applied',
  'S4 mark sent',
  'S5 marked',
  'S6 settle sent',
  'S7 settled',
]

/** A short name for each family of faults. */
const FAULTS: Readonly<Record<FaultId, string>> = {
  F1: 'kill -9',
  F2: 'SIGSTOP for longer than the lease',
  F3: 'request lost',
  F4: 'reply lost',
  F5: 'black hole',
  F6: 'connections to the broker closed',
  F7: 'broker restarted',
  F8: 'Redis frozen for twice the lease',
  F9: 'Redis emptied, flushed, promoted without the mark',
  F10: 'backend terminated, server restarted at once',
  F11: 'replica promoted without the tail',
  F12: 'commit refused',
  F13: 'rebalance during the handler',
  F14: 'calendar of the worker 2 min behind, 1 h ahead',
  F15: 'handler throws, hangs, blocks the loop',
  F16: 'retention over before the redelivery',
  F17: 'poison: always throws, always kills',
  F18: 'cut off from the store alone for twice the lease',
  F19: 'record that cannot be read',
  F20: 'topic deleted, or created anew',
  F21: 'store away when a drop-in starts',
  F22: 'one member of three cut off for good',
  F23: 'told to stop',
  F24: 'transactional producers: committed, aborted, open, lost',
}

/** Families of faults as they were recorded last. */
export interface RecordedFamilies {
  readonly families: readonly FaultId[]
  readonly ranOn: string
  /** The commit whose cells and library ran. */
  readonly commit: string
  readonly seconds: number
  readonly cells: number
  readonly failed: number
  readonly lost: number
  /** Rows of the table of each broker. */
  readonly rows: Readonly<Record<BrokerName, readonly Row[]>>
  /** One row for each strategy. */
  readonly counted: readonly Row[]
}

type Row = readonly (string | number)[]

/** One record for each family of a run that took so long. */
export function recordsOf(
  runs: readonly CellRun[],
  seconds: number,
  by: { readonly ranOn: string; readonly commit: string },
): readonly RecordedFamilies[] {
  return [...new Set(runs.map(({ cell }) => cell.faultId))].map((faultId) => {
    const own = runs.filter(({ cell }) => cell.faultId === faultId)
    return {
      families: [faultId],
      ...by,
      seconds: (seconds * secondsOf(own)) / secondsOf(runs),
      cells: own.length,
      failed: own.filter(({ failures }) => failures.length > 0).length,
      lost: own.reduce((all, run) => all + anomaliesIn(run, 'A1 lost'), 0),
      rows: { kafka: rowsOf('kafka', own), rabbitmq: rowsOf('rabbitmq', own) },
      counted: STRATEGIES.map((strategy) => countedOf(strategy, own)),
    }
  })
}

function secondsOf(runs: readonly CellRun[]): number {
  return runs.reduce((sum, run) => sum + run.seconds, 0)
}

/**
 * The records with `fresh` in place of what they replace.
 *
 * @throws TypeError if a family was recorded together with others that are not in `fresh`
 */
export function mergedRecords(
  recorded: readonly RecordedFamilies[],
  fresh: readonly RecordedFamilies[],
): readonly RecordedFamilies[] {
  const anew = new Set(fresh.flatMap(({ families }) => families))
  const kept = recorded.filter(({ families }) => !families.every((family) => anew.has(family)))
  const torn = kept.flatMap(({ families }) => families).filter((family) => anew.has(family))
  if (torn.length > 0) throw new TypeError(`--record: ${torn.join(', ')} is recorded together with other families`)
  const number = ({ families: [first = 'F0'] }: RecordedFamilies): number => Number(first.slice(1))
  return [...kept, ...fresh].toSorted((a, b) => number(a) - number(b))
}

/** Section of docs/proof.md. */
export function proofPart(
  records: readonly RecordedFamilies[],
  versions: Readonly<Record<string, string>>,
): ProofPart & { readonly records: readonly RecordedFamilies[] } {
  const sum = (what: 'cells' | 'failed' | 'lost' | 'seconds'): number =>
    records.reduce((all, record) => all + record[what], 0)
  const [cells, failed] = [sum('cells'), sum('failed')]
  const recorded = new Set(records.flatMap(({ families }) => families))
  const missing = [...new Set(CELLS.map(({ faultId }) => faultId))].filter((family) => !recorded.has(family))
  return {
    title: 'Faults on real servers, one at each step of a message',
    command: 'npm run faults',
    summary:
      `${cells} cells: one fault at one step of one message, under one strategy, on one broker; then another message must still be ` +
      `handled and nothing may be left. ${failed === 0 ? 'All' : `${cells - failed}`} show what they must; ${sum('lost')} messages lost. ` +
      'The fault is done at the byte: workers reach their servers through proxies that understand what they carry. What happened is ' +
      'read from the servers: rows with their commit times, the writes of Redis, a provider in a process of its own, acks and committed offsets. ' +
      'Families of faults may have run on different days: the last table says when each ran, and of which commit.',
    versions,
    seconds: sum('seconds'),
    tables: [...BROKERS.flatMap((broker) => tableOf(broker, records)), countedIn(records), ranTable(records)],
    limits: [
      ...(missing.length === 0 ? [] : [`Families whose cells are not in these figures: ${missing.join(', ')}.`]),
      'The rare interleavings: each cell is run once, at its one moment.',
      'A power failure: what a server has written and not synced survives here.',
      'The clock is that of the process (`Date`), not that of the machine.',
    ],
    records,
  }
}

function tableOf(broker: BrokerName, records: readonly RecordedFamilies[]): readonly ProofTable[] {
  const rows = records.flatMap((record) => record.rows[broker])
  if (rows.length === 0) return []
  const title = `${broker}: ${USUAL.join(' / ')}. ${OUTCOMES}`
  return [{ title, columns: ['fault', ...STEP_NAMES, 'no step'], rows }]
}

function ranTable(records: readonly RecordedFamilies[]): ProofTable {
  const rows = records.map(({ families, cells, ranOn, commit }): Row => {
    const [first, last] = [families[0], families.at(-1)]
    return [first === last ? String(first) : `${first} to ${last}`, cells, ranOn, commit]
  })
  return { title: 'When each family ran', columns: ['families', 'cells', 'ran on', 'commit'], rows }
}

/** One column for each step, with entries such as `inbox / lease-rerun / lease-keyed / lease-park`. */
function rowsOf(broker: BrokerName, runs: readonly CellRun[]): readonly Row[] {
  const ofBroker = runs.filter(({ cell }) => cell.broker === broker)
  const kinds = [...new Set(ofBroker.map(({ cell }) => kindOf(cell)))]
  return kinds.map((kind) => {
    const cells = ofBroker.filter(({ cell }) => kindOf(cell) === kind)
    const [faultId, how] = kind.split(' ') as [FaultId, string?]
    const steps = STEPS.map((step) => entry(cells.filter(({ cell }) => cell.step === step)))
    const variants = [
      ...new Set(cells.filter(({ cell }) => cell.step === undefined).map(({ cell }) => variantOf(cell))),
    ]
    const whole = variants.map(
      (variant) => `${variant}: ${entry(cells.filter(({ cell }) => variantOf(cell) === variant))}`,
    )
    return [`${faultId} ${FAULTS[faultId]}${how === undefined ? '' : `: ${how}`}`, ...steps, whole.join('; ')]
  })
}

/** The family, and the variant if there are several: `F9 flushed`. */
function kindOf(cell: Cell): string {
  const { faultId, step } = cell
  const how = step === undefined ? '' : variantOf(cell).slice(`${step}-`.length)
  return how === '' ? faultId : `${faultId} ${how}`
}

/** Strategies that every fault is tried with. */
const USUAL: readonly Strategy[] = ['inbox', 'lease-rerun', 'lease-keyed', 'lease-park']

/** Outcome of each strategy: the usual strategies in their order, others by name. */
function entry(cells: readonly CellRun[]): string {
  if (cells.length === 0) return '-'
  const shown = (strategy: Strategy): string => cells.find(({ cell }) => cell.strategy === strategy)?.observed ?? '-'
  const usual = USUAL.map(shown)
  const others = STRATEGIES.filter((strategy) => !USUAL.includes(strategy) && shown(strategy) !== '-')
  return [
    ...(usual.every((one) => one === '-') ? [] : [usual.join(' / ')]),
    ...others.map((strategy) => `${strategy} ${shown(strategy)}`),
  ].join(', ')
}

function countedOf(strategy: Strategy, runs: readonly CellRun[]): Row {
  const own = runs.filter(({ cell }) => cell.strategy === strategy)
  const count = (anomaly: Parameters<typeof anomaliesIn>[1]): number =>
    own.reduce((sum, run) => sum + anomaliesIn(run, anomaly), 0)
  return [
    strategy,
    own.length,
    count('A1 lost'),
    count('L1 stall'),
    count('A2 duplicate tx'),
    count('A2 duplicate attempt'),
    count('A2 duplicate accepted'),
    own.filter(({ observed }) => observed === 'in doubt').length,
  ]
}

function countedIn(records: readonly RecordedFamilies[]): ProofTable {
  const columns = ['cells', 'lost', 'stalled', 'database effect twice', 'called twice', 'accepted twice', 'parked']
  const rows = STRATEGIES.map((strategy): Row => {
    const own = records.flatMap(({ counted }) => counted.filter(([name]) => name === strategy))
    const sums = columns.map((_, index) => own.reduce((sum, row) => sum + Number(row[index + 1]), 0))
    return [strategy, ...sums]
  })
  return { title: 'Counted over all cells of a strategy', columns: ['strategy', ...columns], rows }
}

function variantOf({ name, faultId, strategy }: Cell): string {
  return name.slice(faultId.length + 1, name.indexOf(`.${strategy}`))
}

type Anomalies = NonNullable<CellRun['verdict']>['anomalies']

function anomaliesIn(
  { verdict }: CellRun,
  anomaly: Anomalies extends ReadonlyMap<infer Name, unknown> ? Name : never,
): number {
  return verdict?.anomalies.get(anomaly)?.length ?? 0
}
