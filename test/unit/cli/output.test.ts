import { WriteStream } from 'node:tty'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ageOf } from '../../../cli/age.ts'
import { styled, table } from '../../../cli/output.ts'
import { countedText } from '../../../src/core/counted-text.ts'

const COLOURS = ['NO_COLOR', 'FORCE_COLOR', 'NODE_DISABLE_COLORS', 'TERM', 'COLORTERM', 'CI'] as const

describe('the words of the command-line tool', () => {
  it('count one thing as one, and many with commas', () => {
    expect([0, 1, 1_211].map((count) => countedText(count, 'dead letter'))).toEqual([
      '0 dead letters',
      '1 dead letter',
      '1,211 dead letters',
    ])
    expect(countedText(1, 'message has', 'messages have')).toBe('1 message has')
  })

  it('tell an age in the largest unit of which there are two, and never a negative one', () => {
    const now = 10 * 86_400_000
    expect([now - 41_400, now - 7_199_000, now - 3 * 86_400_000, now + 5_000].map((at) => ageOf(at, now))).toEqual([
      '41 s',
      '2 h',
      '3 days',
      '0 ms',
    ])
    expect(ageOf(undefined, now)).toBe('')
  })
})

describe('colours of the command-line tool', () => {
  const { isTTY } = process.stdout
  // A stream that is no terminal has no such function.
  const depth = Object.getOwnPropertyDescriptor(process.stdout, 'getColorDepth')
  const before = COLOURS.map((name) => [name, process.env[name]] as const)

  beforeEach(() => {
    for (const name of COLOURS) delete process.env[name]
    process.env['TERM'] = 'xterm-256color'
    Object.assign(process.stdout, {
      isTTY: true,
      // Jest gives tests an environment of their own.
      getColorDepth: () => WriteStream.prototype.getColorDepth.call(process.stdout, process.env),
    })
  })
  afterEach(() => {
    Object.assign(process.stdout, { isTTY })
    if (depth === undefined) Reflect.deleteProperty(process.stdout, 'getColorDepth')
    else Object.defineProperty(process.stdout, 'getColorDepth', depth)
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })

  it('are on a terminal, and not where NO_COLOR is set or the output is read by a program', () => {
    expect(styled('red', 'broken')).toBe('\u001B[31mbroken\u001B[39m')
    process.env['NO_COLOR'] = '1'
    expect(styled('red', 'broken')).toBe('broken')
    delete process.env['NO_COLOR']
    Object.assign(process.stdout, { isTTY: false })
    expect(styled('red', 'broken')).toBe('broken')
  })

  it('do not move the columns of a table', () => {
    const rows = [
      ['holds', 'a'],
      ['broken', 'b'],
    ]
    const plain = table(['VERDICT', 'CHECK'], rows)
    const coloured = table(['VERDICT', 'CHECK'], rows, (cell) => (cell === 'broken' ? 'red' : undefined))
    expect(coloured).not.toBe(plain)
    expect(stripVTControlCharacters(coloured)).toBe(plain)
  })
})
