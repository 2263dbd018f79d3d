import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

const ROOT = join(__dirname, '..', '..')
const PAGE = readFileSync(join(ROOT, 'docs', 'choose.md'), 'utf8')
const [, tree = '', table = ''] = PAGE.split(/^## /m)

/** The end of the list has none. */
function indentOf(item: string | undefined): number {
  return item === undefined ? 0 : (/^ */.exec(item)?.[0].length ?? 0)
}

function headingsOf(page: string): readonly string[] {
  const headings = readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)
  return [...headings].map(([, title = '']) => anchorOf(title))
}

/** As GitHub makes it. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

describe('docs/choose.md', () => {
  const links = [...PAGE.matchAll(/\]\(([^)#]*)(?:#([^)]*))?\)/g)].map(([, page = '', anchor]) => ({ page, anchor }))

  it.each(links.filter(({ page }) => page !== ''))('leads to $page $anchor', ({ page, anchor }) => {
    const file = join(ROOT, 'docs', page)
    expect(existsSync(file)).toBe(true)
    expect([undefined, ...headingsOf(file)]).toContain(anchor)
  })

  it('leads from each leaf of the tree to an example that is run', () => {
    const items = tree.split(/^(?= *(?:\d+\.|-) )/m).slice(1)
    const leaves = items.filter((item, at) => indentOf(items[at + 1]) <= indentOf(item))
    expect(leaves.length).toBeGreaterThanOrEqual(20)
    for (const leaf of leaves) {
      const examples = [...leaf.matchAll(/\]\(\.\.\/(examples\/[^)]+)\)/g)].map(([, path = '']) => path)
      expect([leaf, examples.length > 0]).toEqual([leaf, true])
      // `npm run examples` runs every file of this form; a config is none that does something.
      expect(examples.filter((path) => !/^examples\/[\w-]+\.ts$/.test(path) || !existsSync(join(ROOT, path)))).toEqual(
        [],
      )
    }
  })

  it('names a test of each scheme, which exists', () => {
    const rows = table.split('\n').filter((line) => line.startsWith('| ') && !line.includes('---'))
    expect(rows.length).toBeGreaterThan(20)
    for (const row of rows.slice(1)) {
      const shown = /`((?:test|lab)\/[^`]+)`\s*\|$/.exec(row)?.[1]
      expect([row, shown !== undefined && existsSync(join(ROOT, shown))]).toEqual([row, true])
    }
  })
})
