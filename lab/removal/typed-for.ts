import { readFileSync } from 'node:fs'

const PAGE = 'docs/upgrade.md'

/** What the page has its reader type to remove the records of a store. */
export function typedFor(store: 'Redis' | 'Postgres'): string {
  const [, cell] = new RegExp(`^ *\\| ${store} +\\|.*: \`(.*)\` *\\|$`, 'm').exec(readFileSync(PAGE, 'utf8')) ?? []
  if (cell === undefined) throw new Error(`${PAGE}: expected a command for ${store}`)
  return cell.replaceAll(String.raw`\|`, '|')
}
