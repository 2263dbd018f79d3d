import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'

const FOLDER = 'testing/contract/source'

/** Each look at what must not be, which is too early if nothing could have happened yet. */
function looks(): readonly string[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('-laws.ts'))
    .flatMap((name) => {
      const lines = readFileSync(`${FOLDER}/${name}`, 'utf8').split('\n')
      return lines.flatMap((line, at) => {
        if (!/isSettled\(driven\)\)\.toBe\(false\)/.test(line)) return []
        const before = lines.slice(Math.max(0, at - 2), at).join('\n')
        return /\.stop\(/.test(before) ? [] : [`${name}:${at + 1}`]
      })
    })
}

it('a law says that nothing is settled after a stop, which flushes, or by always(), which gives it the time', () => {
  expect(looks()).toEqual([])
})
