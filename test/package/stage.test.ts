import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { manifestOf, stage } from '../../packaging/stage.ts'
import { linksOf } from '../../site/markdown.ts'

/** A checkout that was built: the files that are looked at, and one compiled file. */
function checkout(root: string): void {
  const texts: Readonly<Record<string, string>> = {
    'README.md': readFileSync('README.md', 'utf8'),
    'CHANGELOG.md': 'See [stores](docs/stores.md).',
    LICENSE: 'MIT',
    'docs/stores.md': 'As in [Postgres](postgres.md#rows), [an example](../examples/once.ts), [README](../README.md).',
    'docs/postgres.md': '# Rows\n\n| a    | `b  c` |\n| ---- | ------ |\n| long | d      |\n',
    'docs/proof.md': 'long',
    'docs/decisions/0001.md': 'for the repository',
    'observability/alerts.yml': 'alerts',
    'docker-compose.yml': 'services: {}\n',
    'dist/index.js': 'exports.x = 1',
  }
  for (const [name, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), text)
  }
}

describe('the package as it is published', () => {
  const dir = mkdtempSync(join(tmpdir(), 'consume-once-stage-'))
  afterAll(() => rmSync(dir, { recursive: true }))
  const [root, folder] = [join(dir, 'checkout'), join(dir, 'package')]
  const manifest = { ...manifestOf('.'), repository: { type: 'git', url: 'git+https://github.com/owner/name.git' } }
  checkout(root)
  stage(root, folder, manifest)

  it('has the guides, and neither decisions nor the pages with tables', () => {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('.'))
    expect(files.toSorted()).toEqual([
      'CHANGELOG.md',
      'README.md',
      'dist/index.js',
      'docker-compose.yml',
      'docs/postgres.md',
      'docs/stores.md',
      'observability/alerts.yml',
      'package.json',
    ])
  })

  it('has no link that leads nowhere while the repository has no address: it names the page', () => {
    const { repository: _, ...without } = manifest
    const other = join(dir, 'without')
    stage(root, other, without)
    const pages = readdirSync(other, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'))
    const kept = pages.flatMap((page) => {
      return linksOf(readFileSync(join(other, page), 'utf8')).map((link) => [page, link] as const)
    })
    expect(kept).toContainEqual(['docs/stores.md', 'postgres.md#rows'])
    expect(kept.filter(([page, link]) => !existsSync(join(other, dirname(page), link.replace(/#.*/, ''))))).toEqual([])
    expect(readFileSync(join(other, 'docs/stores.md'), 'utf8')).toBe(
      'As in [Postgres](postgres.md#rows), an example (examples/once.ts of the repository), [README](../README.md).',
    )
    const readme = readFileSync(join(other, 'README.md'), 'utf8')
    expect(readme).toContain('(docs/pictures/demo.svg of the repository: What the demo prints)')
    expect(readme).toContain('Compatibility (docs/compatibility.md of the repository) lists')
  })

  it('has a manifest without what is for a checkout', () => {
    const published = manifestOf(folder)
    expect(published).toMatchObject({ name: 'consume-once', peerDependencies: {}, dependencies: {} })
    for (const field of ['private', 'scripts', 'devDependencies', 'overrides'])
      expect(published).not.toHaveProperty(field)
  })

  it('has a README whose links and pictures are found from the registry', () => {
    expect(linksOf(readFileSync('README.md', 'utf8')).length).toBeGreaterThan(20)
    const text = readFileSync(join(folder, 'README.md'), 'utf8')
    expect(linksOf(text)).toEqual([])
    expect(text).toContain(`](https://github.com/owner/name/blob/v${manifest.version}/docs/guarantees.md)`)
    expect(text).toContain(`](https://github.com/owner/name/raw/v${manifest.version}/docs/pictures/demo.svg)`)
  })

  it('has tables without padding', () => {
    const text = '# Rows\n\n| a | `b  c` |\n| --- | --- |\n| long | d |\n'
    expect(readFileSync(join(folder, 'docs/postgres.md'), 'utf8')).toBe(text)
  })

  it('has guides whose links stay inside, or lead to the repository', () => {
    expect(readFileSync(join(folder, 'docs/stores.md'), 'utf8')).toBe(
      `As in [Postgres](postgres.md#rows), [an example](https://github.com/owner/name/blob/v${manifest.version}/examples/once.ts), [README](../README.md).`,
    )
  })
})
