import { readFileSync } from 'node:fs'
import { adminOf, type Admin, type ConfiguredConsumer, type Inspected, type RecordRef } from '../../src/index.ts'
import { CommandError, EXIT } from '../exit.ts'

export interface RefFlags {
  /** What is given are keys, as lists tell them. */
  readonly key: boolean
  readonly origin?: string
}

const STDIN = 0

/** Messages by ID, or by key; `-` alone stands for standard input, one a line. */
export function refsOf(given: readonly string[], { key: areKeys }: RefFlags): readonly RecordRef[] {
  const texts = given.length === 1 && given[0] === '-' ? linesOf(readFileSync(STDIN, 'utf8')) : given
  if (texts.length === 0) throw new CommandError(EXIT.usage, 'expected at least one message ID, got none')
  return areKeys ? texts.map(keyOf) : texts
}

function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
    .filter((line) => line !== '')
}

function keyOf(text: string): RecordRef {
  if (/^[\w-]{22}$/.test(text)) return { key: text }
  throw new CommandError(EXIT.usage, `--key: expected 22 characters of base64url, got ${JSON.stringify(text)}`)
}

/** @throws ConfigError where the store lets nobody look */
export function adminFor({ consumer, from }: ConfiguredConsumer, { origin }: Pick<RefFlags, 'origin'>): Admin {
  return adminOf(consumer, origin === undefined ? from : { ...from, origins: [origin] })
}

/** As it was asked for. */
export function nameOf(ref: Inspected['ref']): string {
  if (typeof ref === 'string') return ref
  return ref instanceof Uint8Array ? Buffer.from(ref).toString('utf8') : ref.key
}
