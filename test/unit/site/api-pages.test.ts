import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { apiIndex, apiPage } from '../../../site/api-pages.ts'

const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as { exports: Record<string, { types?: string }> }

const NAMES = Object.entries(exports)
  .filter(([, { types }]) => types !== undefined)
  .map(([entry]) => (entry === '.' ? 'consume-once' : entry.slice('./'.length)))

describe('the pages of the API', () => {
  it('say for each entry point of the package what it is for, with a guide that exists', () => {
    const index = apiIndex(NAMES)
    const guides = [...index.matchAll(/\(\.\.\/(?<page>[\w-]+)\.md(?:#[\w-]+)?\)/g)].map(
      ({ groups }) => groups?.['page'],
    )
    expect(guides).toHaveLength(NAMES.length)
    expect(guides.filter((page) => !existsSync(`docs/${page}.md`))).toEqual([])
    for (const name of NAMES) expect(index).toContain(`](${name}.md)`)
  })

  it('refuse an entry point that nobody has described', () => {
    expect(() => apiIndex(['new-door'])).toThrow('consume-once/new-door')
  })

  it('begin with what to import, and leave out defaults that are none', () => {
    const page = apiPage(
      'kafkajs',
      '# kafkajs\n\n## Functions\n\n| `a` | `undefined` | text |\n| `b` | `10` | text |\n',
    )
    expect(page).toBe(
      '# consume-once/kafkajs\n\nFor: consumers on Kafka, with kafkajs. Guide: [Kafka](../kafka.md).\n\n## Functions\n\n| `a` | | text |\n| `b` | `10` | text |\n',
    )
  })
})
