import { besideText, boundText, isMet, rangeText, ratio, whole, type Report, type ScenarioReport } from '../report.ts'
import { CPU_EACH } from '../suite.ts'

/** Section of the page for one suite. `chart` is the path of its drawing, relative to the page. */
export function sectionOf(suite: string, report: Report | undefined, chart: string | undefined): string {
  const command = `npm run bench -- ${suite}`
  if (report === undefined) return `### ${suite}\n\nNot recorded yet. Run it: \`${command}\``
  const drawing = chart === undefined ? [] : [`![Medians and ranges of the suite ${suite}](${chart})`]
  return [
    `### ${suite}`,
    `${machineText(report)} Repeat it: \`${command}\``,
    ...drawing,
    ...report.scenarios.map(scenarioText),
  ].join('\n\n')
}

function machineText({ machine }: Report): string {
  const { node, system, processor, cores, memoryGb, versions } = machine
  const named = Object.entries({ Node: node, ...versions }).map(([name, version]) => `${name} ${version}`)
  return `${cores} x ${processor}, ${memoryGb} GB, ${system}, ${named.join(', ')}.`
}

function scenarioText({ title, run, repetitions, contenders, ratios, bounds }: ScenarioReport): string {
  const { at, commit, load, leftOut = [] } = run
  const times = repetitions === 1 ? 'one run' : `medians of ${repetitions}`
  const figures = Object.keys(contenders[0]?.figures ?? {})
  const measured = contenders.map(({ name, messages, rate, cpuMicroseconds, figures: found }) => [
    name,
    whole(messages),
    whole(rate.median),
    `${whole(rate.least)} - ${whole(rate.most)}`,
    cpuMicroseconds.median.toFixed(1),
    ...figures.map((figure) => (found[figure] === undefined ? '' : rangeText(found[figure]))),
  ])
  const compared = [
    ...ratios.map(({ of, to, goal, rate: { median, least, most }, cpu }) => [
      `${of} : ${to}`,
      `${ratio(median)} (${ratio(least)} - ${ratio(most)})`,
      ratio(cpu.median),
      goal === undefined ? '' : `>= ${goal}`,
      goal === undefined ? '' : outcomeOf(median >= goal),
    ]),
    ...bounds.map((bound) => [
      `${bound.of}: ${bound.figure}${besideText(bound)}`,
      boundText(bound),
      '',
      `<= ${bound.most}`,
      outcomeOf(isMet(bound)),
    ]),
  ]
  return [
    `**${title}**`,
    `${at.slice(0, 10)}, commit ${commit}, ${times}, load ${ratio(load.start)} to ${ratio(load.end)}`,
    table(['', 'messages', 'median/s', 'range', CPU_EACH, ...figures], measured),
    ...leftOut.map((why) => `Left out: ${why}`),
    ...(compared.length === 0 ? [] : [table(['', 'found', 'CPU x', 'goal', ''], compared)]),
  ].join('\n\n')
}

const outcomeOf = (isGood: boolean): string => (isGood ? 'met' : '**missed**')

/** The first column to the left, all others to the right. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const sides = head.map((_, column) => (column === 0 ? '---' : '--:'))
  return [head, sides, ...rows].map((cells) => `| ${cells.map(escaped).join(' | ')} |`).join('\n')
}

const escaped = (cell: string): string => cell.replaceAll('|', '\\|')
