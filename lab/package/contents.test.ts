import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { entries } from '../../packaging/entries.ts'
import { sourceFiles } from '../../test/kit/checkout.ts'
import { Strangers, WITHIN_MS } from './installed.ts'

const run = promisify(execFile)

describe('the packed package', () => {
  const strangers = new Strangers()
  let files: readonly string[] = []

  beforeAll(async () => {
    await strangers.pack()
    await run('tar', ['-xzf', strangers.tarball, '-C', strangers.dir])
    const { stdout } = await run('tar', ['-tzf', strangers.tarball])
    files = stdout
      .split('\n')
      .filter((name) => name !== '')
      .map((name) => name.slice('package/'.length))
  }, WITHIN_MS)
  afterAll(() => strangers[Symbol.dispose]())

  it('is what was compiled from sources that git knows, documents, and nothing else [T156]', () => {
    const sources = new Set(sourceFiles())
    const below = (folder: string): readonly string[] => files.filter((name) => name.startsWith(folder))
    expect(files.filter((name) => !/^(?:dist|docs|observability)\//.test(name)).toSorted()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'docker-compose.yml',
      'package.json',
    ])
    // Bundled: one script, one style sheet, the page and its icon.
    expect(
      below('dist/ui/')
        .map((name) => extname(name))
        .toSorted(),
    ).toEqual(['.css', '.html', '.js', '.svg'])
    expect(below('dist/').filter((name) => !name.startsWith('dist/ui/') && !isBuilt(name, sources))).toEqual([])
    expect([...below('docs/'), ...below('observability/')].filter((name) => !sources.has(name))).toEqual([])
    expect(below('docs/').filter((name) => !name.endsWith('.md'))).toEqual([])
  })

  it('has at most 200 files and 3.5 MB: 3.2 before outbox, limits and the search for a message', () => {
    expect(files.length).toBeLessThanOrEqual(200)
    const bytes = files.reduce((sum, name) => sum + statSync(join(strangers.dir, 'package', name)).size, 0)
    expect(bytes).toBeLessThan(3_500_000)
    expect(bytes).toBeGreaterThan(3_000_000)
  })
})

/** An entry point, or the code of a folder of the sources. */
function isBuilt(name: string, sources: ReadonlySet<string>): boolean {
  if (
    /^dist\/(?:package\.json|cli\.mjs|internal\.(?:js|d\.ts)|lib\/(?:(?:rolldown-)?runtime|tool)\.js|lib\/internal\.d\.ts)$/.test(
      name,
    )
  )
    return true
  const [, inside, folder = ''] = /^dist\/(lib\/)?([\w-]+)\.(?:js|mjs|d\.ts|d\.mts)$/.exec(name) ?? []
  if (inside === undefined) return entries().some((entry) => entry.name === (folder === 'index' ? '.' : `./${folder}`))
  return [...sources].some((file) =>
    [`src/${folder}/`, `adapters/${folder}/`, `${folder}/`].some((of) => file.startsWith(of)),
  )
}
