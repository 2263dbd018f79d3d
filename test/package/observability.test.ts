import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { OBSERVABILITY_PAGE, withTables } from '../kit/observability-page.ts'

describe('docs/observability.md', () => {
  it('has the tables of metrics and alerts as they are in the code (npm run fix writes them)', () => {
    const page = readFileSync(OBSERVABILITY_PAGE, 'utf8')
    expect(page).toBe(withTables(page))
    expect(page).toContain('| `consume_once_deliveries_total`')
    expect(page).toContain('| **ConsumeOnceMessagesParked** (warning)')
  })

  it('takes no more than ten statements to a panel', () => {
    const [, code = ''] =
      /<!-- example: prometheus\.ts -->\n\n```ts\n([\s\S]*?)```/.exec(readFileSync(OBSERVABILITY_PAGE, 'utf8')) ?? []
    const statements = code.split('\n').filter((line) => /^(?:import|const|await) /.test(line))
    expect(statements.length).toBeGreaterThan(5)
    expect(statements.length).toBeLessThanOrEqual(10)
  })

  it('names files that are in the package', () => {
    const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly files: readonly string[] }
    expect(files).toContain('observability')
    for (const [, path = ''] of readFileSync(OBSERVABILITY_PAGE, 'utf8').matchAll(
      /node_modules\/consume-once\/([\w./-]+)/g,
    )) {
      expect([path, existsSync(path)]).toEqual([path, true])
    }
  })
})
