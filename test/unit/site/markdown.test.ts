import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { movedPage, MOVED } from '../../../site/moved.ts'
import { anchorOf, anchorsOf, linksOf, withLinks, withTabs } from '../../../site/markdown.ts'

const PAGES = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'model/README.md',
  'lab/README.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
]

describe('the documentation', () => {
  it.each(PAGES)('%s links to files and headings that exist', (page) => {
    const broken = linksOf(readFileSync(page, 'utf8')).filter((target) => !leadsSomewhere(page, target))
    expect(broken).toEqual([])
  })

  it('lists every page in its contents, once', () => {
    const listed = linksOf(readFileSync('docs/README.md', 'utf8')).filter((target) => !target.startsWith('../'))
    const pages = readdirSync('docs').filter((file) => file.endsWith('.md') && file !== 'README.md')
    expect([...listed].toSorted()).toEqual(pages.toSorted())
  })

  it('lists every question on the page of questions', () => {
    const listed = linksOf(readFileSync('docs/faq.md', 'utf8')).filter((target) => target.startsWith('questions/'))
    expect([...listed].toSorted()).toEqual(readdirSync('docs/questions').map((file) => `questions/${file}`))
  })
})

describe('the address of a page that was merged into another', () => {
  it.each(Object.entries(MOVED))('%s leads to %s, which exists', (from, to) => {
    expect(existsSync(`docs/${from}.md`)).toBe(false)
    expect(leadsSomewhere('docs/README.md', to.replace(/(?=#)|$/, '.md'))).toBe(true)
    expect(movedPage(to)).toContain(`content="0; url=./${to}"`)
  })
})

describe('tabs of a page', () => {
  it('are labels and the blocks below them, as a code group', () => {
    const page =
      'a\n\n<!-- tabs -->\n\n**One**\n\n<!-- example: one.ts -->\n\n```ts\n1\n```\n\n**Two**\n\n```sh\n2\n```\n\n<!-- /tabs -->\n\nb\n'
    expect(withTabs(page)).toBe('a\n\n::: code-group\n\n```ts [One]\n1\n```\n\n```sh [Two]\n2\n```\n\n:::\n\nb\n')
  })

  it.each(PAGES.filter((page) => readFileSync(page, 'utf8').includes('<!-- tabs -->')))(
    '%s has nothing else between them',
    (page) => {
      const markdown = readFileSync(page, 'utf8')
      expect(fencesOf(withTabs(markdown))).toBe(fencesOf(markdown))
      for (const [, inside = ''] of markdown.matchAll(/<!-- tabs -->\n([\s\S]*?)<!-- \/tabs -->/g))
        expect(inside.replaceAll(/^```[\s\S]*?^```$/gm, '').replaceAll(/<!-- .* -->|^\*\*.+\*\*$|\s/gm, '')).toBe('')
    },
  )
})

describe('links of a page', () => {
  it('are found in prose, not in code and comments', () => {
    const page = '# A\n\n[a](b.md#c) ![d](e.png) [f](https://g)\n\n```md\n[h](i.md)\n```\n\n<!-- [j](k.md) -->\n'
    expect(linksOf(page)).toEqual(['b.md#c', 'e.png'])
    expect(withLinks(page, (target) => `/${target}`)).toBe(page.replace('b.md', '/b.md').replace('e.png', '/e.png'))
  })

  it('lead to anchors as GitHub makes them', () => {
    expect(anchorOf('Results, and failures: `once()`')).toBe('results-and-failures-once')
    expect([...anchorsOf('# A b\n\n## A `b`\n\n```sh\n# no heading\n```\n')]).toEqual(['a-b', 'a-b-1'])
  })
})

function fencesOf(text: string): number {
  return text.split('\n').filter((line) => line.startsWith('```')).length
}

function leadsSomewhere(page: string, target: string): boolean {
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? page : normalize(join(dirname(page), path))
  if (!existsSync(file)) return false
  if (anchor === undefined || statSync(file).isDirectory() || !file.endsWith('.md')) return true
  return anchorsOf(readFileSync(file, 'utf8')).has(anchor)
}
