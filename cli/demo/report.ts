import { styleText } from 'node:util'
import type { DemoRequest } from './request.ts'

/** The JSON object that the demo prints. */
export interface Report {
  readonly schema_version: 1
  readonly source: string
  readonly store: string
  readonly delivered: number
  readonly distinct: number
  readonly handled: number
  readonly duplicates: number
  readonly joined: number
  readonly redeliveries: number
  readonly conflicts: number
  readonly no_id: number
  readonly dead_lettered: number
  readonly parked: number
  readonly in_doubt: number
  readonly failed: number
  readonly lost: number
  readonly double_effects: number
  readonly resumed: boolean
  readonly seconds: number
  readonly deliveries_per_second: number
}

export interface Story {
  readonly faults: { readonly redeliveries: number; readonly rebalances: number; readonly crashes: number } | undefined
  /** Messages that this run sent, including leftovers of an earlier run. */
  readonly published: number
  /** Deliveries that would each have had an effect without the library: all with a usable ID. */
  readonly withoutLibrary: number
  /** Effects of the IDs of this input, over all runs. */
  readonly effects: number
  readonly places: readonly string[]
  readonly deadLetters: string
}

type Style = (text: string) => string

const isColoured = process.stdout.isTTY && !process.env['NO_COLOR']
const [bold, dim, green, red] = (['bold', 'dim', 'green', 'red'] as const).map(
  (name): Style =>
    (text) =>
      isColoured ? styleText(name, text) : text,
) as [Style, Style, Style, Style]

/** The report as text for people. */
export function tell(report: Report, story: Story, request: DemoRequest): string {
  const perMessage = (effects: number): string => (report.distinct === 0 ? '–' : (effects / report.distinct).toFixed(3))
  const { faults } = story
  const unsettled = report.delivered - settledOf(report)
  const lines = [
    '',
    bold(headline(report)),
    '',
    `${count(story.published)}  published      ${dim('the whole input, as a producer sends it again')}`,
    `${count(report.delivered)}  delivered      ${dim(`${shown(report.redeliveries)} of them again, what this run had delivered before`)}`,
    `${count(report.distinct)}  distinct       ${dim('different message IDs in the input')}`,
    `${count(report.handled)}  handled        ${dim('effect and mark, in this run')}`,
    `${count(report.duplicates)}  duplicates     ${dim('found to be done, settled without running')}`,
    `${count(report.joined)}  joined         ${dim('arrived while the same message was under way')}`,
    `${count(report.dead_lettered)}  dead-lettered  ${dim(`${report.no_id} without a usable ID in the input, ${report.conflicts} conflicts`)}`,
    ...(unsettled > 0
      ? [`${count(unsettled)}  not settled    ${dim('left behind by a rebalance or a crash, and delivered again')}`]
      : []),
    ...(report.parked > 0
      ? [`${count(report.parked)}  parked         ${dim('in doubt, set aside for a person')}`]
      : []),
    '',
    ...(faults === undefined || faults.redeliveries + faults.rebalances + faults.crashes === 0
      ? []
      : [
          `survived: bursts of redeliveries: ${faults.redeliveries}, rebalances: ${faults.rebalances}, crashes between effect and settle: ${faults.crashes}`,
        ]),
    `effects per message: ${bold(perMessage(story.effects))} with the library, ${perMessage(story.withoutLibrary)} without (in this run alone)`,
    `lost: ${mark(report.lost)}   effects that happened twice: ${mark(report.double_effects)}   time: ${report.seconds} s, ${report.deliveries_per_second.toLocaleString('en-US')} deliveries/s`,
    '',
    dim('State'),
    ...[request.state, ...story.places, story.deadLetters].map((place) => dim(`  ${place.trim()}`)),
    '',
    dim('Try next'),
    ...suggestions(request).flatMap(([command, why]) => [dim(`  ${command}`), dim(`      ${why}`)]),
    '',
  ]
  return lines.join('\n')
}

function shown(value: number): string {
  return value.toLocaleString('en-US')
}

function count(value: number): string {
  return value.toLocaleString('en-US').padStart(9)
}

function headline(report: Report): string {
  const { resumed, handled, lost, double_effects: twice, parked, dead_lettered: deadLettered } = report
  if (lost > 0 || twice > 0) {
    return red('The promise did not hold for this state; docs/guarantees.md says where it does.')
  }
  const exceptions = [
    ...(parked > 0 ? ['in doubt and parked for a person'] : []),
    ...(deadLettered > 0 ? ['without a usable ID, or in conflict, and dead-lettered'] : []),
  ]
  const except = exceptions.length > 0 ? `, except what is ${exceptions.join(', or ')}` : ''
  if (resumed && handled === 0) {
    return green(`Handled 0: everything had its effect in an earlier run${except}. Nothing lost, no effect twice.`)
  }
  return green(`Every message had its effect once${except}. Nothing lost, no effect twice.`)
}

function mark(value: number): string {
  return value === 0 ? green('0') : red(String(value))
}

function settledOf({ handled, duplicates, joined, dead_lettered, parked }: Report): number {
  return handled + duplicates + joined + dead_lettered + parked
}

/** The command as it was typed: in the repository, or with the installed package. */
const COMMAND = process.env['npm_lifecycle_event'] === 'demo' ? 'npm run demo --' : 'npx consume-once demo'

function suggestions({ source, store, state, input, onInDoubt }: DemoRequest): (readonly [string, string])[] {
  const flags = [
    ...(source === 'memory' ? [] : [`--source ${source}`]),
    ...(store === 'pglite' ? [] : [`--store ${store}`]),
    ...(input === undefined ? [] : [`--input ${input}`]),
    ...(onInDoubt === 'rerun' ? [] : [`--on-in-doubt ${onInDoubt}`]),
  ]
  const demo = [COMMAND, ...flags].join(' ')
  return [
    ...(store === 'memory' ? [] : ([[`${demo} --state ${state}`, 'again on the same state: handles 0']] as const)),
    ...(store === 'memory'
      ? []
      : ([[`${demo} --state /tmp/killed --kill-at handled:500`, 'then again without --kill-at']] as const)),
    ...(source === 'memory'
      ? ([[`${COMMAND} --source kafka --store postgres`, 'the same job on real servers']] as const)
      : []),
  ]
}
