// The documentation stays readable: a limit for all words that are written by hand, and one for each paragraph.
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { handWritten, paragraphsOf, wordsOf } from '../../../site/words.ts'

const MOST_WORDS = 42_000
const LONGEST_PARAGRAPH = 400

/** Pages that a program writes. */
const WRITTEN_BY_PROGRAMS = ['cli.md', 'compatibility.md', 'options.md', 'proof.md']

const PAGES = [
  ...readdirSync('docs').filter((name) => name.endsWith('.md') && !WRITTEN_BY_PROGRAMS.includes(name)),
  ...readdirSync('docs/questions').map((name) => `questions/${name}`),
].map((name) => ({ page: `docs/${name}`, text: handWritten(readFileSync(`docs/${name}`, 'utf8')) }))

describe('the pages of the documentation', () => {
  it(`have at most ${MOST_WORDS.toLocaleString('en')} words that are written by hand`, () => {
    const words = PAGES.map(({ page, text }) => ({ page, words: wordsOf(text) }))
    const total = words.reduce((sum, { words: some }) => sum + some, 0)
    const longest = words.toSorted((one, other) => other.words - one.words).slice(0, 10)
    // With the pages to shorten first.
    expect(total > MOST_WORDS ? { total, longest } : 'few enough').toBe('few enough')
    expect(total).toBeGreaterThan(MOST_WORDS / 2)
  })

  it.each(PAGES)(`$page has no paragraph of more than ${LONGEST_PARAGRAPH} characters`, ({ text }) => {
    expect(paragraphsOf(text).filter((paragraph) => paragraph.length > LONGEST_PARAGRAPH)).toEqual([])
  })
})

describe('words and paragraphs', () => {
  const page = `# A title

One [link](https://example.com/very/long) and \`code\`.
The same paragraph.

- an item
- another one

| a table | of two |
| --- | --- |
| three | cells |

\`\`\`sh
npm run nothing
\`\`\`

<!-- metrics -->

| from a program |

<!-- /metrics -->
`

  it('are counted without code, comments, targets of links and what a program writes', () => {
    const text = handWritten(page)
    expect(wordsOf(text)).toBe(
      'A title One link and code. The same paragraph. an item another one a table of two three cells'.split(' ').length,
    )
    expect(paragraphsOf(text)).toEqual(['A title', 'One link and code. The same paragraph.', 'an item', 'another one'])
  })
})
