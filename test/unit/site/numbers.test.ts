// Numbers that pages say are those of the code, of the manifest or of another page.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { figuresOf, recordedSummary } from '../../../site/landing.ts'

const WORDS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']

function page(file: string): string {
  return readFileSync(file, 'utf8')
}

describe('numbers in the documentation', () => {
  it('count the schemes of docs/choose.md', () => {
    const [, , table = ''] = page('docs/choose.md').split(/^## /m)
    const schemes = table.split('\n').filter((line) => line.startsWith('| ')).length - 2
    const said = ['README.md', 'docs/README.md'].flatMap((file) =>
      [...page(file).matchAll(/(\d+) schemes/g)].map(([, count]) => Number(count)),
    )
    expect(said).toEqual([schemes, schemes])
  })

  it('count the packages that are installed beside this one', () => {
    const { dependencies } = JSON.parse(page('package.json')) as { readonly dependencies: object }
    const [, word = ''] = /\*\*(\w+) packages beside this one\*\*/.exec(page('docs/security.md')) ?? []
    expect(WORDS.indexOf(word.toLowerCase())).toBe(Object.keys(dependencies).length)
  })

  it('have no placeholder of a test, and no name twice, on the page of proofs', () => {
    const proof = page('docs/proof.md')
    expect(proof.match(/%[sjdip]/g)).toBeNull()
    expect(proof.match(/\b(?:Spin Spin|gcc gcc)\b/g)).toBeNull()
  })

  it('are on the landing page those that the runs recorded', () => {
    const figures = figuresOf(recordedSummary)
    expect(figures).toHaveLength(4)
    for (const [number] of figures)
      expect(page('docs/proof.md')).toMatch(new RegExp(`\\b${number.replaceAll(',', ',?')}\\b`))
  })

  it('are missed where a record no longer says them', () => {
    expect(() => figuresOf(() => 'something else')).toThrow(/docs\/proof\/faults\.json: expected a summary/)
  })
})
