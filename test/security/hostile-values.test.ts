import { describe, expect, it } from '@jest/globals'
import { assert, constantFrom, oneof, property, string } from 'fast-check'
import * as mysqlLiterals from '../../adapters/mysql2/statements/literals.ts'
import * as pgLiterals from '../../adapters/pg/statements/literals.ts'
import { mysqlMigrationSql } from '../../adapters/mysql2/index.ts'
import { postgresMigrationSql, postgresInbox, postgresLease, postgresOffsets } from '../../adapters/pg/index.ts'
import { resultOf, type Claim, type ClaimItem, type StoreAdmin } from '../../src/internal.ts'
import { claim, hold, newItem, newToken } from '../../testing/contract/store/claims.ts'
import { REAL_STORES, type RealStore } from '../stores/real-stores.ts'
import { closedAfterEach } from '../kit/after-each.ts'

const closing = closedAfterEach()

/** What ends a literal, a statement, a field of a record or a Lua string, somewhere. */
const HOSTILE = [
  `'; drop table inbox; --`,
  `"; drop schema consume_once cascade; --`,
  `\\'; select pg_sleep(60); --`,
  `$$; delete from lease; $$`,
  `$1 $2 :name ? %s {} \${key}`,
  '` or 1=1 #',
  `P|1|1|0|AAAAAAAAAAAAAAAAAAAAAA|token|0`,
  `]] redis.call('FLUSHALL') --[[`,
  `\r\nDEL x\r\n`,
  `__proto__`,
  `ключ 🔑 \u202e`,
]

async function open(opening: () => Promise<RealStore>): Promise<RealStore & { readonly admin: StoreAdmin }> {
  const real = await opening()
  closing.push(() => real.close())
  const { admin } = real.store
  if (admin === undefined) throw new Error('expected a store with admin')
  return { ...real, admin }
}

/** Through all that takes a text. */
async function giveText({ store, admin }: Awaited<ReturnType<typeof open>>, text: string): Promise<void> {
  const [item, aside] = [newItem(), newItem()]
  const request = { scope: text, leaseMs: 30_000, retentionMs: 86_400_000, alone: false }
  const claimOne = async (one: ClaimItem): Promise<Claim> => {
    const [answer] = await store.claim({ ...request, token: newToken(), items: [one] })
    if (answer === undefined || !('claim' in answer)) throw new Error(`expected a claim, got ${answer?.verdict}`)
    return answer.claim
  }
  expect(await store.mark([await claimOne(item)], [resultOf(text)])).toEqual(['marked'])
  expect(await store.setAside([await claimOne(aside)], 'given-up', { reason: text, cause: text })).toEqual(['given-up'])
  expect(await store.claim({ ...request, token: newToken(), items: [item, aside] })).toMatchObject([
    { verdict: 'done', result: resultOf(text) },
    { verdict: 'given-up', reason: text, cause: text },
  ])
  const why = { by: text, reason: text, retentionMs: 86_400_000 }
  expect(await admin.reopen(text, [aside.key], why)).toEqual(['decided'])
  expect(await admin.forget(text, [item.key], why)).toEqual(['decided'])
}

describe.each(REAL_STORES)('what %s is given', (_, opening) => {
  it('is a value and nothing else [T95]', async () => {
    const real = await open(opening)
    const neighbour = newItem()
    await real.store.mark([(await hold(real.store, neighbour)).claim], [resultOf('neighbour')])
    for (const text of HOSTILE) await giveText(real, text)
    expect(await claim(real.store, neighbour)).toMatchObject({ verdict: 'done', result: resultOf('neighbour') })
    expect((await real.dump()).filter((line) => line.includes('forget'))).toHaveLength(HOSTILE.length)
  })
})

describe('a literal in SQL', () => {
  it('is letters, digits and hexadecimal only, whatever the value [T96]', () => {
    assert(
      property(oneof(constantFrom(...HOSTILE), string()), (value) => {
        expect(pgLiterals.text(value)).toMatch(/^(?:'[\w-]*'::text|convert_from\(E'\\\\x[0-9a-f]*'::bytea, 'UTF8'\))$/)
        expect(mysqlLiterals.text(value)).toMatch(/^convert\(x'[0-9a-f]*' using utf8mb4\)$/)
        expect(mysqlLiterals.ascii(value)).toMatch(/^x'[0-9a-f]*'$/)
      }),
    )
  })
})

const NO_NAMES = [
  '',
  'Upper',
  'a-b',
  '1st',
  'a.b',
  'a"b',
  "a'b",
  'a b',
  'pg_mine',
  'x'.repeat(64),
  'ключ',
  'a\0',
  'a;drop',
] as const

describe('a name in SQL', () => {
  const pool = {
    connect: () => Promise.reject(new Error('not asked')),
    query: () => Promise.reject(new Error('not asked')),
    on: () => {},
  }

  it.each(NO_NAMES)('is refused where it is none: %j [T97]', (schema) => {
    for (const make of [postgresInbox, postgresLease, postgresOffsets]) {
      expect(() => make({ pool: pool as never, schema })).toThrow('schema: expected ^[a-z_][a-z0-9_]{0,62}$')
    }
    expect(() => postgresMigrationSql({ schema })).toThrow('schema: expected ^[a-z_][a-z0-9_]{0,62}$')
  })

  it.each(['', 'a`b', 'a;b', "a'b", 'a b', 'x'.repeat(65), 'ключ'])(
    'is refused by MariaDB and MySQL where it is none: %j [T98]',
    (database) => {
      expect(() => mysqlMigrationSql({ database })).toThrow('database: expected')
    },
  )

  it('is quoted wherever it stands [T99]', () => {
    const schema = 'select'
    const unquoted = postgresMigrationSql({ schema })
      .replaceAll(`"${schema}"`, '')
      .match(/(?<![\w'])select\./g)
    expect(unquoted).toBeNull()
    expect(postgresMigrationSql({ schema })).toContain('"select"."inbox"')
    expect(mysqlMigrationSql({ database: 'select' })).toContain('`select`')
  })
})
