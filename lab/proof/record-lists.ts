// Runs the tests of the two lists' own folders, and records both lists: npx tsx lab/proof/record-lists.ts
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { INCIDENTS } from '../../test/incidents/list.ts'
import { SECURITY } from '../../test/security/list.ts'
import { namedTests, testsAsText, testsNotFound, type ListedItem } from './listed-tests.ts'
import { recordPart } from './part.ts'

interface Outcome {
  readonly passed: number
  readonly seconds: number
}

record('security', 'Security', SECURITY, 'what must not be possible, or must be')
record('incidents', 'Incidents', INCIDENTS, 'what has happened to others, as a sentence that must hold here')

function record(
  folder: string,
  title: string,
  list: readonly (ListedItem & { readonly links?: readonly string[] })[],
  of: string,
): void {
  const missing = testsNotFound(list)
  if (missing.length > 0) throw new Error(`expected a test for each ID, got none for ${missing.join('; ')}`)
  const { passed, seconds } = outcomeOf(`test/${folder}`)
  const named = namedTests()
  const elsewhere = list
    .flatMap(({ tests }) => tests)
    .filter((id) => named.get(id)?.file.startsWith(`test/${folder}/`) === false).length
  recordPart(folder, {
    title,
    command: `npx jest test/${folder}`,
    summary: `${list.length} items, ${of}: ${passed} tests of their own passed in this run, and ${elsewhere} tests elsewhere in the suite are named beside them. That each is there is tested too.`,
    versions: {},
    seconds,
    tables: [
      {
        title: 'Items, and the tests that would fail',
        columns: ['item', 'tests'],
        rows: list.map(({ item, links = [], tests }) => [
          [item, ...links.map((link) => `[${nameOf(link)}](${link})`)].join(' '),
          testsAsText(tests),
        ]),
      },
    ],
    limits: list.flatMap(({ but }) => but ?? []),
  })
}

/** @throws where one failed */
function outcomeOf(folder: string): Outcome {
  const dir = mkdtempSync(join(tmpdir(), 'consume-once-lists-'))
  try {
    const file = join(dir, 'outcome.json')
    const startedAt = performance.now()
    spawnSync('npx', ['jest', folder, '--json', '--outputFile', file], { stdio: ['ignore', 'ignore', 'inherit'] })
    const { success, numPassedTests } = JSON.parse(readFileSync(file, 'utf8')) as {
      success: boolean
      numPassedTests: number
    }
    if (!success) throw new Error(`expected every test of ${folder} to pass`)
    return { passed: numPassedTests, seconds: (performance.now() - startedAt) / 1_000 }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** `wolverine#1725` */
function nameOf(link: string): string {
  const [, repository, number] = /github\.com\/[^/]+\/([^/]+)\/\w+\/(\d+)/.exec(link) ?? []
  return `${repository}#${number}`
}
