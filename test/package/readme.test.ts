import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { ERROR_CODES } from 'consume-once'
import { PAGES, withExamples } from '../kit/readme.ts'

const readme = readFileSync('README.md', 'utf8')

describe.each(PAGES)('%s', (file) => {
  it('shows the examples as they are run (npm run fix writes them)', () => {
    const page = readFileSync(file, 'utf8')
    expect(page).toBe(withExamples(page))
  })
})

describe('README', () => {
  it('names only files that exist', () => {
    const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, path]) => path ?? '')
    expect(links.length).toBeGreaterThan(5)
    for (const path of links) expect(() => readFileSync(path)).not.toThrow()
  })
})

describe('docs/errors.md', () => {
  it('has a heading for each code, and no other', () => {
    const headings = [...readFileSync('docs/errors.md', 'utf8').matchAll(/^## (\w+)$/gm)].map(([, code]) => code)
    expect(new Set(headings)).toEqual(new Set(Object.keys(ERROR_CODES)))
    expect(headings).toHaveLength(Object.keys(ERROR_CODES).length)
  })
})

describe('docs/operations.md', () => {
  it('names each event that `observe` gets', () => {
    const ports = ['observer', 'source'].map((name) => readFileSync(`src/ports/${name}.ts`, 'utf8')).join('\n')
    const types = [...ports.matchAll(/readonly type: ('[^\n}]*)/g)].flatMap(([, list = '']) =>
      [...list.matchAll(/'([\w-]+)'/g)].map(([, type = '']) => type),
    )
    expect(types.length).toBeGreaterThan(25)
    const page = readFileSync('docs/operations.md', 'utf8')
    expect(types.filter((type) => !page.includes(`\`${type}\``))).toEqual([])
  })
})

describe('ARCHITECTURE.md', () => {
  const page = readFileSync('ARCHITECTURE.md', 'utf8')
  const map = page.split('```')[1] ?? ''

  it('fits on two screens', () => {
    const lines = page.split('\n')
    expect(lines.length).toBeLessThanOrEqual(100)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(160)
  })

  it.each(['.', 'src', 'src/pipeline', 'adapters'])('names each folder of %s', (place) => {
    const ignored = new Set(['node_modules', 'dist', 'coverage'])
    const folders = readdirSync(place, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !ignored.has(entry.name))
      .map(({ name }) => name)
    expect(folders.length).toBeGreaterThan(5)
    expect(folders.filter((name) => !map.includes(`${name}/`))).toEqual([])
  })

  it('names no folder that is gone', () => {
    const named = [...map.matchAll(/(?<![\w/-])([a-z][\w-]*)\//g)].map(([, name]) => name ?? '')
    const places = [
      '.',
      'src',
      'src/pipeline',
      'src/replay',
      'adapters',
      'adapters/redis',
      'dashboard',
      'dashboard/api',
    ]
    const there = new Set(places.flatMap((place) => readdirSync(place)))
    expect(named.filter((name) => !there.has(name) && name !== 'consume-once')).toEqual([])
  })
})
