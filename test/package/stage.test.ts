import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

  it('keeps links as they are, each with its anchor once, while the repository has no address', () => {
    const { repository: _, ...without } = manifest
    const other = join(dir, 'without')
    stage(root, other, without)
    const links = linksOf(readFileSync(join(other, 'README.md'), 'utf8'))
    expect(links.filter((link) => link.includes('#')).length).toBeGreaterThan(0)
    expect(links).toEqual(linksOf(readFileSync('README.md', 'utf8')))
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
