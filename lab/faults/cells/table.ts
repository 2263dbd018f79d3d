import { BROKERS, type BrokerName, type Cell, type FaultId, type Outcome } from '../cell.ts'

import type { Demands } from '../demands.ts'
import { type Step, STEPS } from '../moment.ts'
import { STRATEGIES, type Strategy } from '../strategy.ts'

/** Expected outcomes: for the usual strategies in their order, as in `1 / B / B / in doubt`, or by the name of the strategy. */
export type Row = string | Partial<Readonly<Record<Strategy, string>>>

/** By step. */
export type Table = Partial<Readonly<Record<Step, Row>>>

export type Made = Pick<Cell, 'fault'> &
  Demands &
  Partial<
    Pick<
      Cell,
      | 'admitted'
      | 'beside'
      | 'crowd'
      | 'crowdDoes'
      | 'isSentAgain'
      | 'isTransactional'
      | 'members'
      | 'mustShow'
      | 'message'
      | 'neighbours'
      | 'oneOfCrowd'
      | 'tuning'
    >
  >

/** One cell for each entry other than `-`, on each broker. */
export function cellsOf(
  faultId: FaultId,
  table: Table,
  make: (step: Step, broker: BrokerName, strategy: Strategy) => Made | undefined,
  variant?: string,
): readonly Cell[] {
  const suffix = variant === undefined ? '' : `-${variant}`
  return BROKERS.flatMap((broker) =>
    STEPS.flatMap((step) =>
      rowOf(table[step]).flatMap(({ strategy, expects }): Cell[] => {
        const made = canRun(strategy, broker) ? make(step, broker, strategy) : undefined
        if (made === undefined) return []
        return [
          {
            name: `${faultId}.${step}${suffix}.${strategy}.${broker}`,
            faultId,
            step,
            strategy,
            broker,
            expects,
            ...made,
          },
        ]
      }),
    ),
  )
}

/** Cells of a fault that has no step. */
export function cellsOfWhole(
  faultId: FaultId,
  variant: string,
  row: Row,
  make: (broker: BrokerName, strategy: Strategy) => Made | undefined,
): readonly Cell[] {
  return BROKERS.flatMap((broker) =>
    rowOf(row).flatMap(({ strategy, expects }): Cell[] => {
      const made = canRun(strategy, broker) ? make(broker, strategy) : undefined
      if (made === undefined) return []
      return [
        {
          name: `${faultId}.${variant}.${strategy}.${broker}`,
          faultId,
          step: undefined,
          strategy,
          broker,
          expects,
          ...made,
        },
      ]
    }),
  )
}

/** Only Kafka has offsets. */
function canRun(strategy: Strategy, broker: BrokerName): boolean {
  return strategy !== 'offsets' || broker === 'kafka'
}

const OUTCOMES: readonly Outcome[] = ['1', '1s', 'B', 'D', 'k', 'in doubt', 'dead-lettered', 'lost']

function rowOf(row: Row = ''): readonly { readonly strategy: Strategy; readonly expects: readonly Outcome[] }[] {
  const entries = typeof row === 'string' ? row.split('/').map((entry) => entry.trim()) : undefined
  return STRATEGIES.flatMap((strategy, index) => {
    const entry = (typeof row === 'string' ? entries?.[index] : row[strategy]) || '-'
    return entry === '-' ? [] : [{ strategy, expects: entry.split(' or ').map(outcomeFrom) }]
  })
}

function outcomeFrom(text: string): Outcome {
  const outcome = OUTCOMES.find((one) => one === text)
  if (outcome === undefined) throw new TypeError(`no outcome: '${text}'`)
  return outcome
}

/** The worker is killed or paused before its mark or settle is sent. A claim has arrived by then. */
export function isBeforeItArrives(step: Step): boolean {
  return step === 'S4' || step === 'S6'
}
