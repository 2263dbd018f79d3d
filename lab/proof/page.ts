import { MEANING } from 'consume-once/testing'
import { anchorOf } from '../../site/markdown.ts'
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

How each promise of [Guarantees](guarantees.md) was tested, and what the tests found. [What shows each promise](proof/guarantees.md) lists
tests, faults and searches for each cell of its table. \`npm run fix\` writes this page from the recorded runs (\`--record\`).`

/** Where the long tables are, and the pages that have them. */
export const PROOF_PAGE = 'docs/proof.md'
export const PROOF_FOLDER = 'docs/proof'

/** The short page, and a page of tables for each part, by path. */
export function proofPages(parts: ReadonlyMap<string, RecordedPart>): ReadonlyMap<string, string> {
  const unknown = [...parts.keys()].filter((name) => !ORDER.includes(name))
  if (unknown.length > 0) throw new Error(`docs/proof: ${unknown.join(', ')} has no place in lab/proof/page.ts`)
  const recorded = ORDER.flatMap((name) => {
    const part = parts.get(name)
    return part === undefined ? [] : [[name, part] as const]
  })
  return new Map([
    [PROOF_PAGE, `${[HEAD, overview(recorded), ...recorded.map(sectionOf)].join('\n\n')}\n`],
    [`${PROOF_FOLDER}/guarantees.md`, `${guarantees()}\n`],
    ...recorded.map(([name, part]) => [`${PROOF_FOLDER}/${name}.md`, `${tablesOf(part)}\n`] as const),
  ])
}

type Named = readonly [name: string, part: RecordedPart]

function overview(recorded: readonly Named[]): string {
  const rows = recorded.map(([name, { title, command, ranOn, seconds }]) => [
    `[${title}](#${anchorOf(title)})`,
    `\`${command}\``,
    ranOn,
    `${Math.round(seconds)} s`,
    `[tables](proof/${name}.md)`,
  ])
  return tableLines(['what was tried', 'repeat it', 'ran on', 'took', 'all results'], rows)
}

function guarantees(): string {
  const tables = [...GUARANTEES.map(guaranteeTable), ...FUNCTIONS.map(functionTable)]
  const names = { title: 'As check() of consume-once/testing judges them', columns: ['anomaly', 'meaning'] }
  const meanings = tableText({ ...names, rows: Object.entries(MEANING) })
  return [GUARANTEE_HEAD, ...tables.map(tableText), '## Anomalies', tableText(admittedTable()), meanings].join('\n\n')
}

function sectionOf([, { title, summary, versions, node, cores, limits }]: Named): string {
  const names = Object.entries({ Node: node, ...versions }).map(versionText)
  const unseen = limits.length === 0 ? [] : [`It does not show:\n\n${limits.map((limit) => `- ${limit}`).join('\n')}`]
  return [`## ${title}`, ...paragraphsOf(summary), `Ran with ${cores} cores, ${names.join(', ')}.`, ...unseen].join(
    '\n\n',
  )
}

/** A sentence a paragraph: a summary is long, and each of its sentences is a finding. */
function paragraphsOf(summary: string): readonly string[] {
  return summary.split(/(?<=[.]) (?=[A-Z])/)
}

function tablesOf({ title, ranOn, tables }: RecordedPart): string {
  const head = `The results of the run of ${ranOn}. [Proof](../proof.md#${anchorOf(title)}) says what was tried and how to repeat it.`
  return [`# ${title}: all results`, head, ...tables.map(tableText)].join('\n\n')
}

/** Some programs say their own name before their version. */
function versionText([name, version]: readonly [string, string]): string {
  return version.startsWith(`${name} `) ? version.replace(' Version ', ' ') : `${name} ${version}`
}

function tableText({ title, columns, rows }: ProofTable): string {
  return `**${title}**\n\n${tableLines(columns, rows)}`
}

function tableLines(columns: readonly string[], rows: ProofTable['rows']): string {
  return [lineOf(columns), lineOf(columns.map(() => '---')), ...rows.map(lineOf)].join('\n')
}

function lineOf(cells: readonly (string | number)[]): string {
  return `| ${cells.map(cellText).join(' | ')} |`
}

function cellText(cell: string | number): string {
  if (typeof cell === 'number') return cell.toLocaleString('en')
  // The title of a test with cases has a place for each.
  return cell.replaceAll('|', '\\|').replaceAll(/%[sjdip]/g, '…')
}
