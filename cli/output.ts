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

/** Columns are as wide as needed. A column that is empty in every row is left out. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(printable))
  const used = heads.map((_, column) => cells.some((row) => row[column] !== ''))
  const kept = [heads, ...cells].map((row) => row.filter((_, column) => used[column]))
  const widths = (kept[0] ?? []).map((_, column) => Math.max(...kept.map((row) => row[column]?.length ?? 0)))
  return kept
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
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
