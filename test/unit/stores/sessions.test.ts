import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

const ROOT = join(__dirname, '../../..')

function sourcesOf(folder: string): readonly (readonly [file: string, text: string])[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => [join(folder, name), readFileSync(join(ROOT, folder, name), 'utf8')] as const)
}

describe('the sessions of a database', () => {
  it.each(['adapters/mysql2', 'adapters/pg'])('%s: none tells which database or schema the tables are in', (folder) => {
    const asking = sourcesOf(folder).filter(([, text]) =>
      /\b(?:database|current_database|current_schemas?)\s*\(\)/.test(text),
    )
    expect(asking.map(([file]) => file)).toEqual([])
  })

  it('on MariaDB and MySQL end transactions by the two statements that no completion_type changes', () => {
    const others = sourcesOf('adapters/mysql2').filter(([, text]) => /'(?:commit|rollback)'/.test(text))
    // The filter of what a handler sends.
    expect(others.map(([file]) => file)).toEqual(['adapters/mysql2/tx/mysql-transaction.ts'])
  })

  it.each([
    ['adapters/mysql2/sessions/session.ts', 'this.connection.query('],
    ['adapters/pg/sessions/handler-statements.ts', 'this.#session.query('],
  ])('get a statement of a handler in one place, which looks at what it leaves: %s', (place, call) => {
    const [folder = ''] = /^adapters\/\w+/.exec(place) ?? []
    const callers = sourcesOf(folder).flatMap(([file, text]) =>
      text
        .split(call)
        .slice(1)
        .map(() => file),
    )
    const sends = callers.filter((file) => !file.endsWith('pooled-connection.ts'))
    expect(sends).toEqual([place])
    expect(readFileSync(join(ROOT, place), 'utf8')).toMatch(/leaves\(.*retire\(\)/)
  })
})

it('every store on a server tries a claim when it is checked, and is refused where none is taken', () => {
  const checkups = ['adapters/mysql2', 'adapters/pg', 'adapters/redis'].flatMap((folder) =>
    sourcesOf(folder).filter(([, text]) => text.includes('checkFindings(')),
  )
  expect(checkups.map(([file]) => file).toSorted()).toEqual([
    'adapters/mysql2/checkup.ts',
    'adapters/pg/judge-server.ts',
    'adapters/redis/servers/checkup.ts',
  ])
  for (const [, text] of checkups) expect(text).toContain("claim: 'refused'")
})
