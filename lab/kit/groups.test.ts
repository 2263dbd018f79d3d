import { spawnSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'

const FILES: Readonly<Record<string, string>> = {
  'counted.js': 'module.exports = { files: 0 }',
  'first.test.js': `
    require('./counted.js').files++
    beforeAll(() => { globalThis.before = 'first' })
    describe('first', () => {
      it('passes', () => {})
      it.skip('is skipped', () => {})
      it.todo('is to be written')
    })`,
  'fails.test.js': `
    const counted = require('./counted.js')
    counted.files++
    beforeAll(() => { globalThis.before = 'fails' })
    it('fails', () => expect([counted.files, globalThis.before]).toEqual('neither'))`,
  'slow.test.js': `
    jest.setTimeout(300)
    it('has the time of the longest limit', () => new Promise((go) => setTimeout(go, 600)))`,
  'broken.test.js': `throw new Error('cannot be loaded')`,
  'own.test.js': `
    jest.mock('./counted.js', () => ({ files: 'replaced' }))
    it('replaces a module for itself', () => expect(require('./counted.js').files).toBe('replaced'))`,
}

interface Told {
  readonly numTotalTestSuites: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
  }[]
}

let dir: string
beforeAll(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'consume-once-grouped-')))
  for (const [file, text] of Object.entries(FILES)) writeFileSync(join(dir, file), text)
})
afterAll(() => rmSync(dir, { recursive: true }))

function ran(runner: unknown): Told {
  const config = { rootDir: dir, transform: {}, testTimeout: 2_000, ...(runner === undefined ? {} : { runner }) }
  const args = [resolve('node_modules/jest/bin/jest.js'), '--json', '--runInBand', '--config', JSON.stringify(config)]
  return JSON.parse(spawnSync(process.execPath, args, { cwd: dir, encoding: 'utf8' }).stdout) as Told
}

type OfFile = Told['testResults'][number]

const shown = (one: OfFile | undefined): unknown => [
  one?.status,
  one?.assertionResults.map(({ fullName, status }) => [fullName, status]),
]
const byFile = ({ testResults }: Told): Readonly<Record<string, OfFile>> =>
  Object.fromEntries(testResults.map((one) => [basename(one.name, '.test.js'), one]))

it('tells of each file of a group what it tells of a file that runs alone', () => {
  const [alone, together] = [undefined, [resolve('test/kit/groups.cjs'), { fromFiles: 2 }]].map(ran).map(byFile)
  expect(Object.keys(together ?? {}).toSorted()).toEqual(['broken', 'fails', 'first', 'own', 'slow'])
  for (const file of ['fails', 'first', 'own']) expect(shown(together?.[file])).toEqual(shown(alone?.[file]))
  expect(together?.['fails']?.message).toContain('fails.test.js:5')
  expect(together?.['first']?.message).toBe('')

  // A group has the longest time limit of its files, and a file that cannot be loaded is a test that failed.
  expect([alone, together].map((run) => run?.['slow']?.status)).toEqual(['failed', 'passed'])
  expect(shown(together?.['broken'])).toEqual(['failed', [['is loaded', 'failed']]])
  expect(together?.['broken']?.message).toContain('cannot be loaded')
})

it('shares modules within a group, and hooks within a file', () => {
  const { message } = byFile(ran([resolve('test/kit/groups.cjs'), { fromFiles: 2 }]))['fails'] ?? { message: '' }
  expect(message.replaceAll(/\s+/g, ' ')).toContain('Received: [2, "fails"]')
})
