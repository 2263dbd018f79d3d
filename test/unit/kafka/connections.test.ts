import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

const ADAPTER = join(process.cwd(), 'adapters/kafkajs')

function filesWith(pattern: RegExp): readonly string[] {
  return readdirSync(ADAPTER, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && pattern.test(readFileSync(join(ADAPTER, file), 'utf8')))
    .toSorted()
}

describe('the sources of the Kafka adapter', () => {
  it('connect each client through connectAny, which tries all brokers', () => {
    expect(filesWith(/\.connect\(\)/)).toEqual(['connect-any.ts'])
  })

  it('judge an error by its causes, in protocol-error.ts', () => {
    expect(filesWith(/\.retriable\b|\.name\b[^\n]*KafkaJS/)).toEqual(['protocol-error.ts'])
  })
})
