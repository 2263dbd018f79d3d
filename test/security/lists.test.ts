import { readdirSync, readFileSync } from 'node:fs'
import { assert, property, string } from 'fast-check'
import { describe, expect, it } from '@jest/globals'
import { identityOf } from '../../src/digest.ts'
import { defineConsumer, memoryStore } from '../../src/index.ts'
import { INCIDENTS } from '../incidents/list.ts'
import { testsNotFound } from '../../lab/proof/listed-tests.ts'
import { SECURITY } from './list.ts'

describe('each test is where a list says it is:', () => {
  it('security', () => {
    expect(testsNotFound(SECURITY)).toEqual([])
    expect(SECURITY.length).toBeGreaterThan(15)
  })

  it('incidents', () => {
    expect(testsNotFound(INCIDENTS)).toEqual([])
  })

  it('and one that is not there is found missing', () => {
    const [file] = ['test/security/lists.test.ts'] as const
    const list = [
      { item: 'there', tests: [[file, 'security']] },
      { item: 'not there', tests: [[file, ['secur', 'it'].join('')]] },
      { item: 'run by nobody', tests: [['test/security/list.ts', 'security']] },
      { item: 'without any', tests: [] },
    ] as const
    expect(testsNotFound(list)).toEqual([
      `not there: ${file}: ${['secur', 'it'].join('')}`,
      'run by nobody: test/security/list.ts: security',
      'without any: no test',
    ])
  })
})

describe('what is absent on purpose', () => {
  it('no option takes a pattern', () => {
    expect(readFileSync('src/options.ts', 'utf8')).not.toContain('RegExp')
    expect(readFileSync('src/message-id.ts', 'utf8')).not.toContain('RegExp')
  })

  it('nothing of the package listens', () => {
    for (const file of ['src', 'adapters', 'cli'].flatMap(sourcesIn)) {
      const source = readFileSync(file, 'utf8')
      expect([file, /createServer|\.listen\(|node:https?'/.exec(source)?.[0]]).toEqual([file, undefined])
    }
  })

  it('to run unprotected is no option', () => {
    const options = {
      name: 'consumer',
      store: memoryStore(),
      handle: () => {},
      onStoreDown: 'run-unprotected',
    }
    expect(() => defineConsumer(options)).toThrow(/onStoreDown: unknown option/)
  })
})

it('a key for a provider is 43 characters that hold nothing of the ID', () => {
  assert(
    property(string({ minLength: 6 }), (id) => {
      const { idempotencyKey } = identityOf([Buffer.from('group')], Buffer.from(id))
      expect(idempotencyKey).toMatch(/^[A-Za-z0-9_-]{43}$/)
      expect(Buffer.from(idempotencyKey, 'base64url')).toHaveLength(32)
      expect(idempotencyKey.includes(id)).toBe(false)
    }),
  )
})

function sourcesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`)
}
