import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { notesOf, sectionsOf } from '../../packaging/changelog.ts'
import { checkoutOf, problemsOf, type Checkout, type MatrixAge } from '../../packaging/readiness.ts'
import { stepsOf } from '../../packaging/release-steps.ts'

const FILLED_IN = {
  version: '1.2.3',
  repository: { type: 'git', url: 'git+https://github.com/acme/consume-once.git' },
  homepage: 'https://github.com/acme/consume-once#readme',
  bugs: 'https://github.com/acme/consume-once/issues',
  author: 'Ann Example <ann@example.org>',
}
const READY: Readonly<Record<string, string>> = {
  'package.json': JSON.stringify(FILLED_IN),
  'CODE_OF_CONDUCT.md': 'Report to conduct@example.org.',
  '.github/CODEOWNERS': '# Who reviews\n*  @ann\n',
  'CHANGELOG.md':
    '# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-11-27\n\n- A line on [stores](docs/stores.md#rows).\n\n## [1.2.2] - 2026-11-01\n\n- Before.\n',
}
const TAGGED: Checkout = { tags: ['v1.2.3'], changed: [] }
const OF_TODAY: MatrixAge = { at: new Date().toISOString(), commits: 0 }

const dir = mkdtempSync(join(tmpdir(), 'consume-once-release-test-'))
afterAll(() => rmSync(dir, { recursive: true }))

/** What stands against a release of a checkout that is ready, but for these files. */
function found(files: Readonly<Record<string, string>>, checkout = TAGGED, matrix = OF_TODAY): readonly string[] {
  const root = mkdtempSync(join(dir, 'checkout-'))
  mkdirSync(join(root, '.github'))
  for (const [name, text] of Object.entries({ ...READY, ...files })) writeFileSync(join(root, name), text)
  return problemsOf(root, checkout, matrix).map(({ what, remedy }) => `${what}; ${remedy}`)
}

/** What stands against a release whose page on compatibility is as old as that. */
function foundAtAge(days: number, commits: number): readonly string[] {
  const at = new Date(Date.now() - days * 86_400_000).toISOString()
  return found({}, TAGGED, { at, commits })
}

describe('release:check', () => {
  it('lets a checkout through that is ready', () => {
    expect(found({})).toEqual([])
  })

  it.each(['repository', 'homepage', 'bugs', 'author'])('names %s of the manifest where it is missing', (field) => {
    const problem = expect.stringMatching(new RegExp(`^package.json: ${field} is not filled in; write "${field}": `))
    for (const value of [undefined, '', 'OWNER', 'NAME <ADDRESS>'])
      expect(found({ 'package.json': JSON.stringify({ ...FILLED_IN, [field]: value }) })).toEqual([problem])
  })

  it('names the contact of the code of conduct, and owners of code that nobody wrote', () => {
    expect(found({ 'CODE_OF_CONDUCT.md': 'Report to [INSERT CONTACT METHOD].' })).toEqual([
      'CODE_OF_CONDUCT.md: the contact is not filled in; write an address that you read in place of [INSERT CONTACT METHOD]',
    ])
    expect(found({ '.github/CODEOWNERS': '# *  @somebody\n' })).toEqual([
      '.github/CODEOWNERS names nobody; write a line such as `*  @OWNER`, with your account or team on GitHub',
    ])
  })

  it('wants a section of the version with a date, and nothing above it', () => {
    const undated = found({ 'CHANGELOG.md': '## [Unreleased]\n\n- A line.\n\n## [1.2.3]\n\n- A line.\n' })
    expect(undated).toEqual([
      expect.stringMatching(/^CHANGELOG.md: no section of 1.2.3 with a date; write the heading ## \[1.2.3\] - /),
      expect.stringMatching(/^CHANGELOG.md: \[Unreleased\] has lines; move the lines to the section of 1.2.3/),
    ])
  })

  it('wants the tag of the version, and a tree with nothing uncommitted', () => {
    expect(found({}, { tags: ['v1.2.2'], changed: ['a', 'b', 'c', 'd'] })).toEqual([
      'git: expected the tag v1.2.3 on this commit, got v1.2.2; run git tag v1.2.3',
      'git: 4 files are not committed: a, b, c, …; commit or remove them',
    ])
  })

  it('wants a page on compatibility that is not much older than the code', () => {
    expect(foundAtAge(60, 400)).toEqual([])
    const page =
      /^docs\/compatibility.md: its oldest run is (3 days and 401|61 days and 0) commits .*; run npm run matrix/
    expect(foundAtAge(3, 401)).toEqual([expect.stringMatching(page)])
    expect(foundAtAge(61, 0)).toEqual([expect.stringMatching(page)])
  })

  it('asks git for tags and changes', () => {
    const root = mkdtempSync(join(dir, 'git-'))
    const git = (...args: readonly string[]): unknown =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], { cwd: root })
    git('init', '--quiet')
    git('commit', '--quiet', '--allow-empty', '-m', 'first')
    git('tag', 'v1.2.3')
    writeFileSync(join(root, 'new.txt'), '')
    expect(checkoutOf(root)).toEqual({ tags: ['v1.2.3'], changed: ['new.txt'] })
  })

  it('finds nothing in this repository but what the owner fills in', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string }
    const others = problemsOf('.', { ...TAGGED, tags: [`v${version}`] }, OF_TODAY).filter(
      ({ what }) => !/^(?:package\.json|CODE_OF_CONDUCT\.md|\.github\/CODEOWNERS)|\[Unreleased\]/.test(what),
    )
    expect(others).toEqual([])
  })
})

describe('the text of a release', () => {
  it('is the section of its version, with links that work outside of the repository', () => {
    const changelog = READY['CHANGELOG.md'] ?? ''
    expect(notesOf(changelog, FILLED_IN)).toBe(
      '- A line on [stores](https://github.com/acme/consume-once/blob/v1.2.3/docs/stores.md#rows).',
    )
    expect(() => notesOf(changelog, { ...FILLED_IN, version: '1.2.4' })).toThrow('expected a section ## [1.2.4]')
  })

  it('has one section for each version in the changelog of this repository, the newest first', () => {
    const sections = sectionsOf(readFileSync('CHANGELOG.md', 'utf8'))
    expect(sections[0]?.name).toBe('Unreleased')
    expect(new Set(sections.map(({ name }) => name)).size).toBe(sections.length)
  })
})

describe('the steps of a release', () => {
  const release = { version: '1.2.3', folder: '/tmp/x', isDryRun: false, withProvenance: true }
  const commands = (of: typeof release): readonly string[] => stepsOf(of).map(({ command }) => command.join(' '))

  it('publish the tarball that was tested, with provenance', () => {
    const tarball = '/tmp/x/consume-once-1.2.3.tgz'
    expect(commands(release)).toEqual([
      'npm run --silent check',
      'npm run --silent pack -- /tmp/x',
      'npx jest --runInBand lab/package/contents lab/package/stranger',
      `npm publish ${tarball} --loglevel=notice --provenance`,
    ])
    expect(stepsOf(release).flatMap(({ env }) => Object.values(env ?? {}))).toEqual([tarball])
  })

  it('are the same in a dry run, which publishes nothing', () => {
    const dry = commands({ ...release, isDryRun: true, withProvenance: false })
    expect(dry.slice(0, -1)).toEqual(commands(release).slice(0, -1))
    expect(dry.at(-1)).toBe('npm publish /tmp/x/consume-once-1.2.3.tgz --loglevel=notice --dry-run')
  })
})
