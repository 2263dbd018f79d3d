import { describe, expect, it } from '@jest/globals'
import { digestArguments } from '../../../adapters/redis/scripts/claim.ts'
import { markArguments } from '../../../adapters/redis/scripts/mark.ts'
import type { Claim } from '../../../src/internal.ts'

const RETENTION_MS = 60_000
/** Of the scope `s`. */
const TAG = '~BDpxh3TF'

function claimOf(letter: string, token = 'token1234567'): Claim {
  const digest = letter.repeat(22)
  return { key: letter, digest, scope: 's', token, fence: 1, attempt: 2, retentionMs: RETENTION_MS }
}

const [a, b, c] = [claimOf('a'), claimOf('b'), claimOf('c', 'another12345')]

describe('the arguments of a batch of marks', () => {
  it('are one text for each owner', () => {
    expect(markArguments([a, b, c], new Map())).toEqual([
      1,
      RETENTION_MS,
      0,
      `token1234567${TAG}`,
      `12${a.digest}12${b.digest}`,
      `another12345${TAG}`,
      `12${c.digest}`,
    ])
  })

  it('have one result more for each mark that keeps something, and no long form for the others', () => {
    const kept = new Map([
      [b, 'v"x|y"'],
      [c, 'u'],
    ])
    expect(markArguments([a, b, c], kept).slice(0, 7)).toEqual([1, RETENTION_MS, 2, 2, 'v"x|y"', 3, 'u'])
    expect(markArguments([a, b, c], kept).slice(7)).toEqual(markArguments([a, b, c], new Map()).slice(3))
  })

  it('are as short if no payload is compared, as with several identities', () => {
    const bare = [a, b].map((claim) => ({ ...claim, digest: '' }))
    expect(markArguments(bare, new Map())).toEqual([2, RETENTION_MS, 0, `token1234567${TAG}`, '1212'])
    expect(markArguments([a, { ...b, digest: '' }], new Map())[0]).toBe(0)
    expect(digestArguments(bare)).toEqual([2, 2])
    expect(digestArguments([a, { ...b, digest: '' }])).toEqual([0, a.digest, ''])
  })

  it('are three for each mark if one of them has no short form', () => {
    const often = { ...a, fence: 10 }
    expect(markArguments([often, b], new Map([[b, 'v1']]))).toEqual([
      0,
      `|${often.digest}|${often.token}${TAG}|`,
      RETENTION_MS,
      `D|10|0|0|${often.digest}|${often.token}|`,
      `|${b.digest}|${b.token}${TAG}|`,
      RETENTION_MS,
      `d1${b.digest}${b.token.slice(0, 4)}v1`,
    ])
  })
})
