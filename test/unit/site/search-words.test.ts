import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { anchorsOf } from '../../../site/markdown.ts'
import { fieldOf, SEARCH_FIELDS, SEARCH_WORDS } from '../../../site/search-words.ts'

const words = Object.values(SEARCH_WORDS).flat()

describe('the words that people search for', () => {
  it.each(Object.keys(SEARCH_WORDS))('lead to a page that exists: %s', (id) => {
    const [path = '', anchor] = id.split('#')
    const file = `docs${path}.md`
    expect(existsSync(file)).toBe(true)
    expect([undefined, ...anchorsOf(readFileSync(file, 'utf8'))]).toContain(anchor)
  })

  it('lead to one page each', () => {
    expect(words.length).toBeGreaterThanOrEqual(40)
    expect(words.filter((word, at) => words.indexOf(word) !== at)).toEqual([])
  })

  it('are indexed with the first section of their page, beside what the section says', () => {
    const first = { id: '/outbox#outbox', title: 'Outbox', titles: [], text: 'With this page' }
    expect(SEARCH_FIELDS.map((field) => fieldOf(first, field))).toEqual([
      'Outbox',
      [],
      'With this page',
      'outbox dual write',
    ])
    expect(fieldOf({ ...first, id: '/outbox#in-three-steps', titles: ['Outbox'] }, 'words')).toBe('')
    expect(fieldOf({ id: '/protocol#a-message-that-kills-its-process', titles: ['The way'] }, 'words')).toBe(
      'poison crash',
    )
  })
})
