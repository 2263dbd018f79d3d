import { medianOf, resourcesOf, type Recorded, type Taken } from './figures.ts'
import { CASES, PAYLOAD_BYTES, PER_SECOND, PROVIDER_MS, TITLES } from './plan.ts'

export const PAGE = 'docs/deploy.md'
const BEGIN = '<!-- footprint: written by npm run footprint from lab/footprint/results.json -->'
const END = '<!-- end of footprint -->'

const HEAD = [
  'worker',
  'idle: CPU',
  'idle: memory',
  `${PER_SECOND.toLocaleString('en')}/s: CPU`,
  `${PER_SECOND.toLocaleString('en')}/s: memory`,
  '`node_modules`',
]

/** The page with the table between its marks. */
export function withTable(page: string, recorded: Recorded): string {
  const [before, after] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (before < 0 || after < before) throw new Error(`${PAGE}: expected the lines\n${BEGIN}\n${END}`)
  return [page.slice(0, before) + BEGIN, textOf(recorded), page.slice(after)].join('\n\n')
}

/** Medians over the rounds; of memory the most. */
function textOf(recorded: Recorded): string {
  const { on, node, processor, kafka, secondsEach, installedMib, rounds } = recorded
  const rows = CASES.map((what) => {
    const of = (load: 'idle' | 'loaded'): readonly string[] => {
      const taken: readonly Taken[] = rounds[what].map((round) => round[load])
      const memory = Math.max(...taken.map(({ memoryMib }) => memoryMib))
      return [`${Math.round(medianOf(taken.map(({ millicores }) => millicores)))}m`, `${Math.round(memory)} MiB`]
    }
    return [TITLES[what], ...of('idle'), ...of('loaded'), `${Math.round(installedMib[what])} MiB`]
  })
  const { requestMillicores, requestMib, limitMib } = resourcesOf(recorded)
  return [
    table(HEAD, rows),
    `Messages of ${PAYLOAD_BYTES.toLocaleString('en')} bytes; the handler of the lease waits ${PROVIDER_MS} ms for its provider, that of the inbox inserts a row; with \`prom-client\` and \`serveHealth\`. CPU is in thousandths of a core, the median of ${rounds['kafka-redis'].length} rounds of ${secondsEach} s; memory is the most that was resident in any of them. ${on}, Node ${node}, Kafka ${kafka}, ${processor}.`,
    `So a worker of this rate asks for \`cpu: ${requestMillicores}m\` and \`memory: ${requestMib}Mi\`, and is ended at \`${limitMib}Mi\`: half as much CPU again, a quarter more memory, and the limit at twice that.`,
  ].join('\n\n')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const sides = head.map((_, column) => (column < 1 ? '---' : '---:'))
  return [head, sides, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
