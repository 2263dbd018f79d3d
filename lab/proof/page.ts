import { MEANING } from 'consume-once/testing'
import { admittedTable, functionTable, GUARANTEE_HEAD, guaranteeTable } from './guarantee-section.ts'
import { GUARANTEES } from './guarantees/all.ts'
import { FUNCTIONS } from './guarantees/functions.ts'
import type { ProofTable, RecordedPart } from './part.ts'

/** In this order on the page; parts that were never recorded are left out. */
const ORDER: readonly string[] = [
  'model',
  'simulator',
  'faults',
  'chaos',
  'soak',
  'mutants',
  'hostile',
  'security',
  'incidents',
]

const HEAD = `# Proof

[Guarantees](guarantees.md) says what is promised. This page lists, for each promise, how it was tested and what the test found. Every part
names the command that repeats it. The page is written by the runs (\`--record\`) and \`npm run fix\`, never by hand.`

export function proofPage(parts: ReadonlyMap<string, RecordedPart>): string {
  const unknown = [...parts.keys()].filter((name) => !ORDER.includes(name))
  if (unknown.length > 0) throw new Error(`docs/proof: ${unknown.join(', ')} has no place in lab/proof/page.ts`)
  const sections = ORDER.flatMap((name) => {
    const part = parts.get(name)
    return part === undefined ? [] : [sectionOf(part)]
  })
  return `${[HEAD, guarantees(), ...sections, anomalies()].join('\n\n')}\n`
}

function guarantees(): string {
  const tables = [...GUARANTEES.map(guaranteeTable), ...FUNCTIONS.map(functionTable)]
  return [GUARANTEE_HEAD, ...tables.map(tableText)].join('\n\n')
}

function anomalies(): string {
  const names = { title: 'As check() of consume-once/testing judges them', columns: ['anomaly', 'meaning'] }
  const meanings = tableText({ ...names, rows: Object.entries(MEANING) })
  return ['## Anomalies', tableText(admittedTable()), meanings].join('\n\n')
}

function sectionOf(part: RecordedPart): string {
  const { title, command, summary, versions, seconds, ranOn, node, cores, tables, limits } = part
  const names = Object.entries({ Node: node, ...versions }).map(versionText)
  const ran = `Ran on ${ranOn} in ${Math.round(seconds)} s, ${cores} cores, ${names.join(', ')}. Repeat it: \`${command}\``
  const unseen =
    limits.length === 0 ? [] : [`What it does not show:\n\n${limits.map((limit) => `- ${limit}`).join('\n')}`]
  return [`## ${title}`, summary, ran, ...tables.map(tableText), ...unseen].join('\n\n')
}

/** Some programs say their own name before their version. */
function versionText([name, version]: readonly [string, string]): string {
  return version.startsWith(`${name} `) ? version.replace(' Version ', ' ') : `${name} ${version}`
}

function tableText({ title, columns, rows }: ProofTable): string {
  const lines = [lineOf(columns), lineOf(columns.map(() => '---')), ...rows.map(lineOf)]
  return `**${title}**\n\n${lines.join('\n')}`
}

function lineOf(cells: readonly (string | number)[]): string {
  return `| ${cells.map(cellText).join(' | ')} |`
}

function cellText(cell: string | number): string {
  if (typeof cell === 'number') return cell.toLocaleString('en')
  // The title of a test with cases has a place for each.
  return cell.replaceAll('|', '\\|').replaceAll(/%[sjdip]/g, '…')
}
