// Keeps the voice of the documentation: plain technical English. A word list, because each pattern was found in our own pages.
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { proseOf } from '../../../site/markdown.ts'

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'lab/README.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
  ...readdirSync('docs')
    .filter((file) => file.endsWith('.md') && !['proof.md', 'performance.md', 'compatibility.md'].includes(file))
    .map((file) => `docs/${file}`),
  ...readdirSync('docs/questions').map((file) => `docs/questions/${file}`),
]

/** What a page must not say, and what it says instead. */
const AVOIDED: ReadonlyMap<RegExp, string> = new Map([
  [/\bwhoever\b/i, 'name the person or the process'],
  [/\bthat which\b/i, 'name the thing'],
  [/\bwhat no longer\b/i, 'name the thing'],
  [/\bnobody says\b|\bis told of\b|\bare told of\b/i, 'use the active voice, with an actor'],
  [/\bis taken for\b|\bare taken for\b/i, 'write "is treated as"'],
  [/\bof ours\b|\bof theirs\b/i, 'write "our", "their"'],
  [/(?:^|[.:;] )Of (?:the|a|an|all|each|what|those|these)\b[^,.]*\./m, 'a sentence has a subject and a verb'],
  [/(?:^|\. )(?:Tested|Measured|Shown|Told|Kept) (?:is|are) /m, 'subject first, then the verb'],
  [/\b(?:simply|easily|obviously|of course|seamless(?:ly)?|blazing|powerful|robust)\b/i, 'leave it out'],
  [/\b(?:utili[sz]e|leverage|in order to)\b/i, 'write "use", "to"'],
])

describe('the voice of the documentation', () => {
  it.each(PAGES)('%s is in plain technical English', (page) => {
    const found: string[] = []
    const prose = proseOf(readFileSync(page, 'utf8')).replaceAll(/`[^`\n]*`/g, 'CODE')
    for (const [pattern, instead] of AVOIDED) {
      for (const line of prose.split('\n')) {
        const match = pattern.exec(line)
        if (match !== null)
          found.push(`${match[0]} (${instead}): ${line.slice(Math.max(0, match.index - 60), match.index + 80)}`)
      }
    }
    expect(found).toEqual([])
  })

  it('would find each of these faults', () => {
    const faulty = [
      'Started by whoever opens the store.',
      'It is that which counts.',
      'Remove what no longer is there.',
      'Which row nobody says.',
      'An answer is taken for a failure.',
      'A rule of ours.',
      'Of the store that opens it.',
      'Tested is that it stops.',
      'Simply call it.',
      'Utilize it.',
    ]
    const patterns = [...AVOIDED.keys()]
    expect(faulty.filter((sentence, at) => patterns[at]?.test(sentence) !== true)).toEqual([])
    expect(faulty).toHaveLength(patterns.length)
  })
})
