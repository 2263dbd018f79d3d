import { styled } from '../output.ts'
import type { DemoRequest } from './request.ts'
import { countedText } from '../../src/core/counted-text.ts'

/** What happens in a run, before it begins. */
export const NONE = {
  delivered: 0,
  handled: 0,
  duplicates: 0,
  joined: 0,
  redeliveries: 0,
  conflicts: 0,
  dead_lettered: 0,
  parked: 0,
  in_doubt: 0,
  failed: 0,
}
export type Counts = typeof NONE

export type Faults = Record<'redeliveries' | 'rebalances' | 'crashes', number>

/** The JSON object that the demo prints. */
export type Report = Readonly<
  { schema_version: 1; source: string; store: string; resumed: boolean } & Counts &
    Record<'distinct' | 'no_id' | 'lost' | 'double_effects' | 'seconds' | 'deliveries_per_second', number>
>

export interface Story {
  readonly faults: Readonly<Faults>
  /** Messages that this run sent, including leftovers of an earlier run. */
  readonly published: number
  /** Effects of the IDs of this input, over all runs. */
  readonly effects: number
  readonly places: readonly string[]
}

/** The report as text for people. */
export function tell(report: Report, story: Story, request: DemoRequest): string {
  const { delivered, distinct, handled, duplicates, joined, dead_lettered: deadLettered, parked } = report
  const unsettled = delivered - handled - duplicates - joined - deadLettered - parked
  const { redeliveries, rebalances, crashes } = story.faults
  const perMessage = (effects: number): string => (distinct === 0 ? '–' : (effects / distinct).toFixed(3))
  return [
    '',
    headline(report),
    '',
    row(story.published, 'published', 'the whole input, as a producer sends it again'),
    row(delivered, 'delivered', `${shown(report.redeliveries)} of them again, what this run had delivered before`),
    row(distinct, 'distinct', 'different message IDs in the input'),
    row(handled, 'handled', 'effect and mark, in this run'),
    row(duplicates, 'duplicates', 'found to be done, settled without running'),
    row(joined, 'joined', 'arrived while the same message was under way'),
    row(
      deadLettered,
      'dead-lettered',
      `${report.no_id} without a usable ID in the input, ${countedText(report.conflicts, 'conflict')}`,
    ),
    ...(unsettled > 0
      ? [row(unsettled, 'not settled', 'left behind by a rebalance or a crash, and delivered again')]
      : []),
    ...(parked > 0 ? [row(parked, 'parked', 'in doubt, set aside for a person')] : []),
    '',
    ...(redeliveries + rebalances + crashes === 0
      ? []
      : [
          `survived: bursts of redeliveries: ${redeliveries}, rebalances: ${rebalances}, crashes between effect and settle: ${crashes}`,
        ]),
    // Without the library each delivery with a usable ID has an effect.
    `effects per message: ${styled('bold', perMessage(story.effects))} with the library, ${perMessage(delivered - deadLettered)} without (in this run alone)`,
    `lost: ${mark(report.lost)}   effects that happened twice: ${mark(report.double_effects)}   time: ${report.seconds} s, ${shown(report.deliveries_per_second)} deliveries/s`,
    '',
    styled('dim', ['State', request.state, ...story.places].join('\n  ')),
    '',
    styled('dim', ['Try next', ...suggestions(request)].join('\n  ')),
    '',
  ].join('\n')
}

function row(count: number, what: string, meaning: string): string {
  return `${shown(count).padStart(9)}  ${what.padEnd(13)}  ${styled('dim', meaning)}`
}

function shown(value: number): string {
  return value.toLocaleString('en-US')
}

function mark(value: number): string {
  return styled(value === 0 ? 'green' : 'red', String(value))
}

function headline({
  resumed,
  handled,
  lost,
  double_effects: twice,
  parked,
  dead_lettered: deadLettered,
}: Report): string {
  if (lost > 0 || twice > 0) {
    return styled('red', 'The promise did not hold for this state; docs/guarantees.md says where it does.')
  }
  const exceptions = [
    ...(parked > 0 ? ['in doubt and parked for a person'] : []),
    ...(deadLettered > 0 ? ['without a usable ID, or in conflict, and dead-lettered'] : []),
  ]
  const except = exceptions.length > 0 ? `, except what is ${exceptions.join(', or ')}` : ''
  const what =
    resumed && handled === 0
      ? 'Handled 0: everything had its effect in an earlier run'
      : 'Every message had its effect once'
  return styled('green', `${what}${except}. Nothing lost, no effect twice.`)
}

/** The command as it was typed: in the repository, or with the installed package. */
const COMMAND = process.env['npm_lifecycle_event'] === 'demo' ? 'npm run demo --' : 'npx consume-once demo'

function suggestions({ source, store, state, input }: DemoRequest): readonly string[] {
  const demo = `${COMMAND} --source ${source} --store ${store}${input === undefined ? '' : ` --input ${input}`} --state`
  const again = [
    `${demo} ${state}`,
    '    again on the same state: handles 0',
    `${demo} /tmp/killed --kill-at handled:500`,
    '    then again without --kill-at',
  ]
  const onServers = [`${COMMAND} --source kafka --store postgres`, '    the same job on real servers']
  return [...(store === 'memory' ? [] : again), ...(source === 'memory' ? onServers : [])]
}
