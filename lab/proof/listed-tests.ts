import { readFileSync } from 'node:fs'

/** Something that must hold, and the tests that would fail if it did not. */
export interface ListedItem {
  readonly item: string
  readonly tests: readonly ListedTest[]
  /** What the tests do not show, or what is left to the user. */
  readonly but?: string
}

/** As it is written in its file. */
export type ListedTest = readonly [file: string, title: string]

const RUN_BY_JEST = /^(?:(?:test|lab)\/.*\.test|lab\/demo\/contract|testing\/contract\/store\/[\w-]+-laws)\.ts$/

/** What a list names and nobody runs: a title that is in no such file. */
export function testsNotFound(list: readonly ListedItem[]): readonly string[] {
  return list.flatMap(({ item, tests }) => {
    if (tests.length === 0) return [`${item}: no test`]
    return tests.filter((test) => !isThere(test)).map(([file, title]) => `${item}: ${file}: ${title}`)
  })
}

function isThere([file, title]: ListedTest): boolean {
  if (!RUN_BY_JEST.test(file)) return false
  const source = readFileSync(file, 'utf8')
  return ["'", '"', '`'].some((quote) => source.includes(quote + title + quote))
}
