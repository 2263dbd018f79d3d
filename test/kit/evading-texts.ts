import { array, boolean, constantFrom, sample, tuple } from 'fast-check'

/** Texts that end a transaction, or try to, in spellings that no pattern of a library lists. */
export interface Evading {
  readonly text: string
  /** By the protocol for values, with none. */
  readonly hasValues: boolean
}

/** The same for the same words: text number `n` of a test can be run again. */
export function evadingTexts(words: readonly string[], comments: readonly string[]): readonly Evading[] {
  const gap = array(constantFrom(' ', '\n', '\t', ...comments), { maxLength: 3 }).map((parts) => parts.join(''))
  const empty = constantFrom('', '', ';', ';;')
  const spelt = tuple(constantFrom(...words), constantFrom('lower', 'upper', 'mixed')).map(([word, how]) =>
    spell(word, how),
  )
  const evading = tuple(gap, empty, gap, spelt, gap, empty, boolean()).map(
    ([first, nothing, second, word, third, end, hasValues]) => ({
      text: `${first}${nothing}${second}${word}${third}${end}`,
      hasValues,
    }),
  )
  return sample(evading, { numRuns: 400, seed: 17 })
}

function spell(word: string, how: 'lower' | 'upper' | 'mixed'): string {
  if (how === 'lower') return word
  if (how === 'upper') return word.toUpperCase()
  return word.replaceAll(/[a-z]/g, (deadLetter, at: number) => (at % 2 === 0 ? deadLetter.toUpperCase() : deadLetter))
}

/** Texts that end a transaction of Postgres, also by ways that go through something else. */
export const POSTGRES_ENDINGS: readonly string[] = [
  'commit',
  'commit work',
  'commit and chain',
  'end',
  'end transaction and chain',
  'rollback',
  'rollback and chain',
  'abort',
  "prepare transaction 'torn'",
  'select 1; commit',
  'select 1; commit; begin',
  'commit; begin; select 1',
  'begin; select 1; commit',
  'rollback; begin',
  'savepoint s; commit',
  'set transaction read only',
  'do $$ begin commit; end $$',
  'do $$ begin rollback; end $$',
  'discard all',
  'release savepoint consume_once',
]

export const POSTGRES_COMMENTS: readonly string[] = ['/* app */', '/* a /* nested */ b */', '-- f\n', '/**/', '--\n']

/** Texts that end a transaction of MariaDB and MySQL. */
export const MYSQL_ENDINGS: readonly string[] = [
  'commit',
  'commit work',
  'commit and chain',
  'rollback',
  'rollback and chain',
  'begin',
  'start transaction',
  'set autocommit = 1',
  'set @@autocommit = 1',
  'create table if not exists torn (n int)',
  'drop table if exists torn',
  'flush tables',
  'savepoint consume_once',
  'release savepoint consume_once',
]

export const MYSQL_COMMENTS: readonly string[] = ['/* app */', '-- f\n', '# f\n', '/**/']
