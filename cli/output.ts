import { styleText } from 'node:util'
import { withoutSecrets } from '../src/foundation/without-secrets.ts'

/** Version of every JSON object that the tool prints. */
const SCHEMA_VERSION = 1

/** Data: stdout contains nothing else. */
export function printJson(command: string, fields: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify({ schema_version: SCHEMA_VERSION, command, ...fields })}\n`)
}

export function printText(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Messages for people, on stderr. */
export function say(text: string): void {
  process.stderr.write(`${withoutSecrets(text)}\n`)
}

export type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red'

/** Text with a style where stdout is a terminal and NO_COLOR is not set. */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout })
}

/** Columns are as wide as needed. A column that is empty in every row is left out. `styleOf`: of a cell by its text. */
export function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  styleOf: (cell: string) => Style | undefined = () => undefined,
): string {
  const cells = rows.map((row) => row.map(printable))
  const used = heads.map((_, column) => cells.some((row) => row[column] !== ''))
  const kept = [heads, ...cells].map((row) => row.filter((_, column) => used[column]))
  const widths = (kept[0] ?? []).map((_, column) => Math.max(...kept.map((row) => row[column]?.length ?? 0)))
  return kept
    .map((row) =>
      row
        .map((cell, column) => {
          const style = styleOf(cell)
          const padding = column === row.length - 1 ? '' : ' '.repeat((widths[column] ?? 0) - cell.length)
          return `${style === undefined ? cell : styled(style, cell)}${padding}`
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** IDs and reasons come from strangers: they must not move a terminal's cursor or break a line. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- that is what they are
  return text.replaceAll(/[\u0000-\u001F\u007F-\u009F\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
