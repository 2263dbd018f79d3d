import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { commitsSince, readRecorded, runTimes } from '../lab/matrix/recorded.ts'
import { sectionsOf } from './changelog.ts'
import { manifestOf, type Manifest } from './stage.ts'

/** Something that stands against a release. */
export interface Problem {
  readonly what: string
  readonly remedy: string
}

/** What git knows of the checkout. */
export interface Checkout {
  /** Tags of the commit that is checked out. */
  readonly tags: readonly string[]
  /** Files that differ from that commit, or that git does not know. */
  readonly changed: readonly string[]
}

/** How much older than this commit docs/compatibility.md is. */
export interface MatrixAge {
  /** ISO time of the oldest run of the page. */
  readonly at: string
  /** Commits to src and adapters since then. */
  readonly commits: number
}

/** Here and not in the tests: a change fails CI by what it does, not because it is the four hundredth. */
const MOST_COMMITS_BEHIND = 400
const MOST_DAYS_BEHIND = 60
const DAY_MS = 86_400_000

const REPOSITORY = 'https://github.com/OWNER/consume-once'

/** What only the owner of the repository knows, with a line to write for each. The registry shows these, and provenance compares `repository`. */
const OF_THE_OWNER: Readonly<Record<string, string>> = {
  repository: `"repository": { "type": "git", "url": "git+${REPOSITORY}.git" }`,
  homepage: `"homepage": "${REPOSITORY}#readme"`,
  bugs: `"bugs": "${REPOSITORY}/issues"`,
  author: '"author": "NAME <ADDRESS>"',
}

/** All that stands against a release of this checkout, but for its tests and its package. */
export function problemsOf(
  root: string,
  checkout: Checkout = checkoutOf(root),
  matrix: MatrixAge = ageOfMatrix(),
): readonly Problem[] {
  const manifest = manifestOf(root)
  const text = (file: string): string => readFileSync(join(root, file), 'utf8')
  return [
    ...unfilled(manifest, text),
    ...problemsOfChangelog(text('CHANGELOG.md'), manifest.version),
    ...problemsOfGit(checkout, manifest.version),
    ...problemsOfMatrix(matrix),
  ]
}

function unfilled(manifest: Manifest, text: (file: string) => string): readonly Problem[] {
  const problems: Problem[] = []
  for (const [field, line] of Object.entries(OF_THE_OWNER)) {
    const value = JSON.stringify(manifest[field] ?? '')
    if (value.length < 5 || /OWNER|NAME|ADDRESS/.test(value))
      problems.push({ what: `package.json: ${field} is not filled in`, remedy: `write ${line}` })
  }
  if (text('CODE_OF_CONDUCT.md').includes('[INSERT CONTACT METHOD]')) {
    const remedy = 'write an address that you read in place of [INSERT CONTACT METHOD]'
    problems.push({ what: 'CODE_OF_CONDUCT.md: the contact is not filled in', remedy })
  }
  if (!/^\*\s+@\w/m.test(text('.github/CODEOWNERS'))) {
    const remedy = 'write a line such as `*  @OWNER`, with your account or team on GitHub'
    problems.push({ what: '.github/CODEOWNERS names nobody', remedy })
  }
  return problems
}

function problemsOfChangelog(changelog: string, version: string): readonly Problem[] {
  const sections = sectionsOf(changelog)
  const problems: Problem[] = []
  if (sections.find(({ name }) => name === version)?.date === undefined) {
    const remedy = `write the heading ## [${version}] - YEAR-MONTH-DAY, and below it what a user of the version reads`
    problems.push({ what: `CHANGELOG.md: no section of ${version} with a date`, remedy })
  }
  if ((sections.find(({ name }) => name === 'Unreleased')?.text ?? '') !== '') {
    const remedy = `move the lines to the section of ${version}, and leave the heading`
    problems.push({ what: 'CHANGELOG.md: [Unreleased] has lines', remedy })
  }
  return problems
}

function problemsOfGit({ tags, changed }: Checkout, version: string): readonly Problem[] {
  const problems: Problem[] = []
  const tag = `v${version}`
  if (!tags.includes(tag)) {
    const found = tags.length === 0 ? 'no tag' : tags.join(', ')
    problems.push({ what: `git: expected the tag ${tag} on this commit, got ${found}`, remedy: `run git tag ${tag}` })
  }
  if (changed.length > 0) {
    const some = `${changed.slice(0, 3).join(', ')}${changed.length > 3 ? ', …' : ''}`
    problems.push({ what: `git: ${changed.length} files are not committed: ${some}`, remedy: 'commit or remove them' })
  }
  return problems
}

function problemsOfMatrix({ at, commits }: MatrixAge): readonly Problem[] {
  const days = Math.floor((Date.now() - Date.parse(at)) / DAY_MS)
  if (commits <= MOST_COMMITS_BEHIND && days <= MOST_DAYS_BEHIND) return []
  const what = `docs/compatibility.md: its oldest run is ${days} days and ${commits} commits to src and adapters old, more than ${MOST_DAYS_BEHIND} or ${MOST_COMMITS_BEHIND}`
  return [{ what, remedy: 'run npm run matrix, and commit what it writes' }]
}

export function checkoutOf(root: string): Checkout {
  const git = (...args: readonly string[]): readonly string[] =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' })
      .split('\n')
      .filter((line) => line !== '')
  return {
    tags: git('tag', '--points-at', 'HEAD'),
    changed: git('status', '--porcelain').map((line) => line.slice(3)),
  }
}

function ageOfMatrix(): MatrixAge {
  const ages = runTimes(readRecorded()).map((at) => ({ at, commits: commitsSince(at) }))
  const [oldest] = ages
  if (oldest === undefined) throw new Error('expected runs in lab/matrix/results.json, found none; run npm run matrix')
  return oldest
}

/** One line for each problem, and one that says what to do. */
export function told(problems: readonly Problem[]): string {
  return problems.map(({ what, remedy }) => `  ${what}\n    ${remedy}\n`).join('')
}
