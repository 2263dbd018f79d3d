import { medianOf, type Cost } from './figures.ts'
import { CONTENDERS, type Contender, type Happening } from './plan.ts'
import type { Recorded } from './recorded.ts'

export const PAGE = 'docs/kafka.md'
const BEGIN = '<!-- rebalances: written by npm run rebalance from lab/rebalance/results.json -->'
const END = '<!-- end of rebalances -->'

const TITLES: Readonly<Record<Contender, string>> = {
  kafkajs: 'kafkajs',
  platformatic: '@platformatic/kafka, classic protocol',
  'platformatic-kip848': '@platformatic/kafka, KIP-848',
}

const CHANGES: readonly (readonly [Happening, string])[] = [
  ['joins', 'a fourth member joins'],
  ['leaves', 'a member stops in order'],
  ['killed', 'a member is killed'],
]

const HEAD = [
  'change',
  'client',
  'partitions that move',
  'longest pause of one that stays',
  'longest pause of one that moves',
  'delivered again',
  'handled again',
]

/** The page with the table between its marks. */
export function withTable(page: string, recorded: Recorded): string {
  const [before, after] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (before < 0 || after < before) throw new Error(`${PAGE}: expected the lines\n${BEGIN}\n${END}`)
  return [page.slice(0, before) + BEGIN, textOf(recorded), page.slice(after)].join('\n\n')
}

/** Medians over the rounds. */
function textOf({ on, kafka, node, rounds }: Recorded): string {
  const rows = CHANGES.flatMap(([happening, change]) =>
    CONTENDERS.map((contender) => {
      const costs = rounds[contender].map((round) => round[happening])
      const median = (of: (cost: Cost) => number | undefined): number | undefined =>
        medianOf(costs.map(of).filter((figure) => figure !== undefined))
      return [
        change,
        TITLES[contender],
        countText(median(({ moved }) => moved)),
        secondsText(median(({ stayedMs }) => stayedMs)),
        secondsText(median(({ movedMs }) => movedMs)),
        countText(median(({ redelivered }) => redelivered)),
        countText(median(({ handledAgain }) => handledAgain)),
      ]
    }),
  )
  const still = CONTENDERS.flatMap((contender) => rounds[contender].map(({ nothing }) => nothing.stayedMs ?? 0))
  return [
    table(HEAD, rows),
    `Medians of ${rounds.kafkajs.length} rounds of one run, in which the clients took turns: ${on}, Kafka ${kafka}, Node ${node}. While nothing happened the longest pause was ${secondsText(medianOf(still))}.`,
  ].join('\n\n')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const sides = head.map((_, column) => (column < 2 ? '---' : '---:'))
  return [head, sides, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function secondsText(ms: number | undefined): string {
  return ms === undefined ? '-' : `${(ms / 1_000).toFixed(1)} s`
}

function countText(count: number | undefined): string {
  return count === undefined ? '-' : String(Math.round(count))
}
