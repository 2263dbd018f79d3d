import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Something that must hold, and the tests that would fail if it did not. */
export interface ListedItem {
  readonly item: string
  readonly tests: readonly TestId[]
  /** Not shown by the tests, or left to the user. */
  readonly but?: string
}

/** Stands in brackets at the end of the title of one test, and stays when title or file change. */
export type TestId = `T${number}`

interface NamedTest {
  readonly file: string
  readonly title: string
}

const RUN_BY_JEST =
  /^(?:(?:test|lab|examples\/orm\/test)\/.*\.test|lab\/(?:demo\/contract|stores\/server-in-trouble)|test\/contract\/sequence-laws|test\/kit\/suites\/(?:guard(?:s|-histories)|outbox\/(?:order|publishing|telling))|testing\/contract\/store\/[\w-]+-laws)\.ts$/
const TITLE = /(['"`])((?:(?!\1).)*) \[(T\d+)\]\1/g

let found: ReadonlyMap<string, NamedTest> | undefined

/** The tests that carry an ID. Looked for once. @throws TypeError if two carry the same */
export function namedTests(): ReadonlyMap<string, NamedTest> {
  found ??= findNamed()
  return found
}

function findNamed(): ReadonlyMap<string, NamedTest> {
  const tests = new Map<string, NamedTest>()
  for (const folder of ['test', 'lab', 'testing', 'examples/orm/test']) {
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      const file = join(folder, name)
      if (!RUN_BY_JEST.test(file)) continue
      for (const [, , title = '', id = ''] of readFileSync(file, 'utf8').matchAll(TITLE)) {
        if (tests.has(id)) throw new TypeError(`${id} is in ${tests.get(id)?.file} and again in ${file}`)
        tests.set(id, { file, title })
      }
    }
  }
  return tests
}

/** IDs that a list names and that no test carries. */
export function testsNotFound(list: readonly ListedItem[]): readonly string[] {
  const tests = namedTests()
  return list.flatMap(({ item, tests: ids }) => {
    if (ids.length === 0) return [`${item}: no test`]
    return ids.filter((id) => !tests.has(id)).map((id) => `${item}: ${id}`)
  })
}

/** The tests with these IDs, for a page: each file once, with the titles. */
export function testsAsText(ids: readonly TestId[]): string {
  const tests = namedTests()
  const titles = new Map<string, string[]>()
  for (const id of ids) {
    const { file, title } = tests.get(id) ?? { file: 'no file', title: id }
    titles.set(file, [...(titles.get(file) ?? []), title])
  }
  return [...titles].map(([file, all]) => `\`${file}\`: ${all.join('; ')}`).join('<br>')
}
