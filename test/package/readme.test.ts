import { readFileSync } from 'node:fs'
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

describe('ARCHITECTURE.md', () => {
  it('is a map, not a book', () => {
    expect(readFileSync('ARCHITECTURE.md', 'utf8').split('\n').length).toBeLessThanOrEqual(150)
  })
})
