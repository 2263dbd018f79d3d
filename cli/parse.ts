import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import { CommandError, EXIT } from './exit.ts'

export function parsePositive(text: string): number {
  const number = Number(text)
  if (/^\d{1,9}$/.test(text) && number > 0) return number
  throw new InvalidArgumentError('Expected a whole number from 1.')
}

const STDIN = 0

/** One a line; `-` is standard input. */
export function readLines(option: string, path: string): readonly string[] {
  try {
    const text = readFileSync(path === '-' ? STDIN : path, 'utf8')
    return text.split(/\r?\n/).filter((line) => line !== '')
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CommandError(EXIT.usage, `${option}: cannot read ${JSON.stringify(path)}: ${why}`, { cause })
  }
}
