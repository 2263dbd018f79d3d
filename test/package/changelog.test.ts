import { describe, expect, it } from '@jest/globals'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as exported from '../../src/index.ts'

const lines = readFileSync('CHANGELOG.md', 'utf8').split(/\n(?=- )/).filter((line) => line.startsWith('- ')) // prettier-ignore

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|mjs|cjs|js|json)$/.test(name) && !name.endsWith('changelog.test.ts'))
    .map((name) => join(folder, name))
}

const tests = ['test', 'lab', 'testing/contract', 'examples/orm/test'].flatMap(filesIn).map((file) => readFileSync(file, 'utf8')).join('\n') // prettier-ignore

/** Options, events, functions, commands, classes: each word of what a line has as code. */
function namesIn(line: string): readonly string[] {
  return [...line.matchAll(/`([^`]+)`/g)]
    .map(([, code = '']) => code)
    .flatMap((code) => code.match(/(?<![/\w])[A-Za-z]\w*(?:-\w+)*/g) ?? [])
    .filter((name) => name.length > 3)
}

describe('the changelog', () => {
  it('names nothing that no test names: a line without a test may be wrong', () => {
    const untested = lines.flatMap((line) =>
      namesIn(line)
        .filter((name) => !tests.includes(name))
        .map((name) => `${name}: ${line.slice(0, 80)}`),
    )
    expect(untested).toEqual([])
  })

  it('counts what consume-once exports', () => {
    const [, count] = /`consume-once` exports what users import \((\d+) values/.exec(lines.join('\n')) ?? []
    expect(Object.keys(exported).length).toBe(Number(count))
    expect(Number(count)).toBeLessThanOrEqual(40)
  })
})
