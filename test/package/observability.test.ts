import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { OBSERVABILITY_PAGE, withTables } from '../kit/observability-page.ts'
import { PUBLISHED } from '../../packaging/stage.ts'

describe('docs/observability.md', () => {
  it('has the tables of metrics and alerts as they are in the code (npm run fix writes them)', () => {
    const page = readFileSync(OBSERVABILITY_PAGE, 'utf8')
    expect(page).toBe(withTables(page))
    expect(page).toContain('| `consume_once_deliveries_total`')
    expect(page).toContain('| **ConsumeOnceMessagesParked** (warning)')
  })

  it('takes no more than ten lines from a consumer to a panel and a trace', () => {
    const [, code = ''] =
      /<!-- example: prometheus\.ts -->\n\n```ts\n([\s\S]*?)```/.exec(readFileSync(OBSERVABILITY_PAGE, 'utf8')) ?? []
    const signals = /prom-client|prometheus|health|serveHealth|otel|opentelemetry|exporter/i
    const lines = code.split('\n').filter((line) => signals.test(line))
    expect(lines.length).toBeGreaterThan(5)
    expect(lines.length).toBeLessThanOrEqual(10)
    // What is left is a consumer without signals.
    const left = code.split('\n').filter((line) => !signals.test(line) && line !== '')
    expect(left.filter((line) => /^\w/.test(line)).map((line) => line.split(' ', 2).join(' '))).toEqual([
      'import {',
      'import {',
      'import {',
      'const sms',
      'const running',
    ])
  })

  it('names files that are in the package', () => {
    expect(PUBLISHED).toContain('observability')
    for (const [, path = ''] of readFileSync(OBSERVABILITY_PAGE, 'utf8').matchAll(
      /node_modules\/consume-once\/([\w./-]+)/g,
    )) {
      expect([path, existsSync(path)]).toEqual([path, true])
    }
  })
})
