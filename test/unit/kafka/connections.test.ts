import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

const FOLDERS = ['kafka', 'kafkajs']

function filesWith(pattern: RegExp): readonly string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join('adapters', folder), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  )
    .filter((file) => file.endsWith('.ts') && pattern.test(readFileSync(join('adapters', file), 'utf8')))
    .toSorted()
}

describe('the sources of the Kafka adapter', () => {
  it('connect each client through connectAny, which tries all brokers', () => {
    expect(filesWith(/\.connect\(\)/)).toEqual(['kafkajs/connect-any.ts'])
  })

  it('judge an error by its causes, in kafka/protocol-error.ts', () => {
    expect(filesWith(/\.retriable\b|\.name\b[^\n]*KafkaJS/)).toEqual(['kafka/protocol-error.ts'])
  })
})
