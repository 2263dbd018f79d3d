import { shown } from '../../../src/foundation/shown.ts'
import type { AnyRule, AnyTable } from '../../../src/foundation/options.ts'
import type { PublicCall, Told } from './public-calls.ts'

/** Public functions that read their options by one table. */
interface Section {
  readonly table: AnyTable
  readonly entry: string
  readonly names: Set<string>
  readonly told: PublicCall['told']
}

/** An option at its place in the options of a function. */
export interface Option {
  /** `retry.topics[].delayMs` */
  readonly place: string
  readonly rule: AnyRule
  readonly told: Told
}

const HEAD = `# Options

Every public function that takes options, with the rule by which it checks each of them: unknown names and wrong values are a \`ConfigError\` \`CONFIG_INVALID\` that names all of them at once. The page is made from the tables of the code and the docstrings of the types (\`npm run options\`); the docstring in your editor says more. Times are milliseconds.

`

/** `docs/options.md`. */
export function optionsPage(read: readonly (readonly [PublicCall, AnyTable])[]): string {
  const sections = new Map<AnyTable, Section>()
  for (const [{ entry, name, told }, table] of read) {
    const section = sections.get(table) ?? { table, entry, names: new Set(), told }
    sections.set(table, section)
    section.names.add(name)
  }
  const entries = [...new Set(read.map(([{ entry }]) => entry))]
  return `${HEAD}${entries
    .map((entry) => [entry, [...sections.values()].filter((section) => section.entry === entry)] as const)
    .filter(([, of]) => of.length > 0)
    .map(([entry, of]) => `## consume-once${entry.slice(1)}\n\n${of.map(textOf).join('\n')}`)
    .join('\n')}`
}

function textOf({ table, names, told }: Section): string {
  const rows = optionsIn(table, told).map(
    ({ place, rule, told: { text, usual } }) =>
      `| \`${place}\` | ${cell(rule.isNeeded === true ? 'required' : (usual?.replace(/^(?:[\d_]+|true|false)$/, '`$&`') ?? usualIn(rule)))} | ${cell(rule.expected)} | ${cell(firstSentence(text))} |`,
  )
  const title = [...names].map((name) => `\`${name}\``).join(', ')
  return `### ${title}\n\n| option | default | takes | what it says |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`
}

/** The options of a table and of the objects inside of it, each behind the one that holds it. */
export function optionsIn(table: AnyTable, told: PublicCall['told'], prefix = '', path = ''): readonly Option[] {
  return Object.entries(table).flatMap(([name, rule]) => [
    { place: `${prefix}${name}`, rule, told: told[`${path}${name}`] ?? { text: '' } },
    ...inside(rule, `${prefix}${name}`, `${path}${name}`).flatMap(([inner, at, under]) =>
      optionsIn(inner, told, `${at}.`, `${under}.`),
    ),
  ])
}

function inside(rule: AnyRule, place: string, path: string): readonly (readonly [AnyTable, string, string])[] {
  if (rule.inside !== undefined) return [[rule.inside, place, path]]
  const isList = /^(?:a list|at least one, in a list)/.test(rule.expected)
  return (rule.rules ?? []).flatMap((one) =>
    isList ? inside(one, `${place}[]`, `${path}.0`) : inside(one, place, path),
  )
}

function usualIn(rule: AnyRule): string {
  if (rule.default === undefined) return ''
  return typeof rule.default === 'object' || typeof rule.default === 'function' ? '' : `\`${shown(rule.default)}\``
}

function firstSentence(text: string): string {
  return /^.*?[.](?=\s+[A-Z`]|$)/s.exec(text)?.[0] ?? text
}

function cell(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').trim()
}
