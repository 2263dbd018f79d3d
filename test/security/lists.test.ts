import { readdirSync, readFileSync } from 'node:fs'
import { assert, property, string } from 'fast-check'
import { describe, expect, it } from '@jest/globals'
import { definitionOf } from '../../src/consumer/define-consumer.ts'
import { identityOf } from '../../src/identity/digest.ts'
import { defineConsumer } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { INCIDENTS } from '../incidents/list.ts'
import { GUARANTEES } from '../../lab/proof/guarantees/all.ts'
import { FUNCTIONS } from '../../lab/proof/guarantees/functions.ts'
import { namedTests, testsNotFound } from '../../lab/proof/listed-tests.ts'
import { SECURITY } from './list.ts'

describe('each test that a list names by its ID exists:', () => {
  it('security', () => {
    expect(testsNotFound(SECURITY)).toEqual([])
    expect(SECURITY.length).toBeGreaterThan(15)
  })

  it('incidents', () => {
    expect(testsNotFound(INCIDENTS)).toEqual([])
  })

  it('and one that is not there is found missing', () => {
    const list = [
      { item: 'there', tests: ['T1'] },
      { item: 'not there', tests: ['T0'] },
      { item: 'without any', tests: [] },
    ] as const
    expect(testsNotFound(list)).toEqual(['not there: T0', 'without any: no test'])
  })

  it('and each test with an ID is in a list', () => {
    const claims = GUARANTEES.flatMap(({ claims: cells, breaksWhen }) => [...cells, ...breaksWhen])
    const ofFunctions = FUNCTIONS.flatMap(({ promise, breaksWhen }) => [promise, ...breaksWhen])
    const listed = new Set<string>(
      [...claims, ...ofFunctions, ...INCIDENTS, ...SECURITY].flatMap(({ tests = [] }) => tests),
    )
    expect([...namedTests().keys()].filter((id) => !listed.has(id))).toEqual([])
  })
})

describe('what is absent on purpose', () => {
  it('no option takes a pattern [T102]', () => {
    expect(readFileSync('src/consumer/options.ts', 'utf8')).not.toContain('RegExp')
    expect(readFileSync('src/identity/message-id.ts', 'utf8')).not.toContain('RegExp')
  })

  it('nothing of the package listens but the health server and the dashboard, which a user starts [T140]', () => {
    const listening = ['adapters/health/', 'dashboard/server/node.ts']
    for (const file of ['src', 'adapters', 'cli', 'dashboard/server'].flatMap(sourcesIn)) {
      if (listening.some((place) => file.startsWith(place))) continue
      const source = readFileSync(file, 'utf8')
      expect([
        file,
        /createServer|\.listen\(|from 'node:https'|import (?!\{ ServerResponse,)[^\n]* from 'node:http'/.exec(
          source,
        )?.[0],
      ]).toEqual([file, undefined])
    }
  })

  it('to run unprotected is off unless it is set, word for word [T144]', () => {
    const options = { name: 'consumer', store: memoryStore(), handle: () => {} }
    expect(definitionOf(defineConsumer(options)).onStoreDown).toBe('pause')
    for (const onStoreDown of ['open', 'run', true, ''] as never[]) {
      expect(() => defineConsumer({ ...options, onStoreDown })).toThrow(/onStoreDown: expected "pause"/)
    }
  })
})

it('a key for a provider is 43 characters that hold nothing of the ID [T130]', () => {
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
