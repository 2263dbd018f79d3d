// Numbers and nouns of the dashboard: 1 message, 2 messages.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { plural } from '../../../dashboard/format.ts'

/** A count with a noun or a verb behind it that is right for several only. */
const FOR_SEVERAL = /\bcount(?:Text)?\((?:[^()]|\([^()]*\))*\)\}? (?:[a-z]+s|are|were|have|lack|repeat|tell)\b/g

function numbersFor(text: string): readonly string[] {
  return [...text.matchAll(FOR_SEVERAL)].map(([found]) => found)
}

describe('a number of the dashboard', () => {
  const files = ['dashboard/ui', 'dashboard/server'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => join(folder, name)),
  )

  it('is followed by a word that is right for one, too', () => {
    expect(files.length).toBeGreaterThan(50)
    expect(files.flatMap((file) => numbersFor(readFileSync(file, 'utf8')).map((found) => [file, found]))).toEqual([])
  })

  it('is found by that test where it is not', () => {
    expect(
      numbersFor('of {count(arrived)} deliveries, {count(a(b))} rows, `${countText(of[x])} are parked`'),
    ).toHaveLength(3)
    expect(numbersFor('{count(rate)} a second, {count(left)} had gone, {count(of)} read')).toEqual([])
    expect([plural(1, 'is', 'are'), plural(2, 'is', 'are')]).toEqual(['1 is', '2 are'])
  })
})
