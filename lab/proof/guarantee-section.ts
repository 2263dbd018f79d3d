import { ADMITTED } from '../../testing/checker/anomaly.ts'
import { FUNCTION_COLUMNS, FUNCTIONS, type FunctionGuarantee } from './guarantees/functions.ts'
import { GUARANTEES } from './guarantees/all.ts'
import { BREAKS_WHEN, COLUMNS, type Claim, type Guarantee } from './guarantees/guarantee.ts'
import { testsAsText } from './listed-tests.ts'
import type { ProofTable } from './part.ts'

export const GUARANTEE_HEAD = `# What shows each promise

Cell by cell, the table of [Guarantees](../guarantees.md). A promise is shown by what would fail if it were broken, a limit by
what runs into it. To repeat it: a test by \`npx jest FILE\`, fault cells by \`npm run faults -- --only 'NAME'\`, schedules by
\`npm run sim -- --seeds 1..1000000\`, cells of the model by \`npm run model -- --only NAME\`. Simulator and model try the protocol over no
particular store; laws of \`testing/contract\` and \`lab/demo/contract.ts\` are run by the tests of each store and each broker. That everything
named here exists, and that docs/guarantees.md says the same, is tested.`

const HOW = ['claim', 'says', 'tests', 'fault cells', 'simulator', 'model', 'not shown'] as const

/** One table for each row of docs/guarantees.md. */
export function guaranteeTable({ strategy, claims, breaksWhen }: Guarantee): ProofTable {
  const limits = breaksWhen.map((limit) => rowOf(BREAKS_WHEN, limit))
  return tableOf(strategy, [...COLUMNS.map((column, index) => rowOf(column, claims[index])), ...limits])
}

/** One table for each row of the second table there. */
export function functionTable({ name, promise, breaksWhen }: FunctionGuarantee): ProofTable {
  return tableOf(name, [rowOf(FUNCTION_COLUMNS[1], promise), ...breaksWhen.map((limit) => rowOf(BREAKS_WHEN, limit))])
}

function tableOf(title: string, rows: readonly (readonly string[])[]): ProofTable {
  const isUsed = HOW.map((_, index) => rows.some((row) => row[index] !== ''))
  const used = <T>(all: readonly T[]): T[] => all.filter((_, index) => isUsed[index])
  return { title, columns: used(HOW), rows: rows.map(used) }
}

export function admittedTable(): ProofTable {
  return {
    title: 'What each promise admits under faults, counted and printed; in a run without faults nothing is admitted',
    columns: ['promise', 'anomalies'],
    rows: Object.entries(ADMITTED).map(([promise, anomalies]) => [promise, anomalies.join(', ')]),
  }
}

function rowOf(column: string, claim: Claim | undefined): readonly string[] {
  if (claim === undefined) throw new TypeError(`no claim under ${column}`)
  const { says, tests = [], faults = [], simulated = '', models = [], notShown = '' } = claim
  return [column, says, testsAsText(tests), codes(faults), simulated, codes(models), notShown]
}

function codes(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(' ')
}

export const GUARANTEE_PAGE = 'docs/guarantees.md'

/** docs/guarantees.md with both of its tables written into it. */
export function withGuaranteeTables(page: string): string {
  const strategies = GUARANTEES.map(({ strategy, claims, breaksWhen }) => [
    strategy,
    ...claims.map(({ says }) => says),
    causes(breaksWhen),
  ])
  const functions = FUNCTIONS.map(({ name, promise, breaksWhen }) => [name, promise.says, causes(breaksWhen)])
  const tables = {
    guarantees: [['strategy', ...COLUMNS, BREAKS_WHEN], ...strategies],
    functions: [[...FUNCTION_COLUMNS], ...functions],
  }
  return Object.entries(tables).reduce((text, [name, [head = [], ...rows]]) => {
    const pattern = new RegExp(`(<!-- ${name}: written by .*-->\n)[\\s\\S]*?(<!-- end of ${name} -->)`)
    if (!pattern.test(text)) throw new Error(`${GUARANTEE_PAGE} has no place for its table of ${name}`)
    const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
    return text.replace(pattern, (_, begin: string, end: string) => `${begin}\n${lines.join('\n')}\n\n${end}`)
  }, page)
}

function causes(breaksWhen: readonly Claim[]): string {
  return breaksWhen.map(({ says }) => says).join('; ')
}
