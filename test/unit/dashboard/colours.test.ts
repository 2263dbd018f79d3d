import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { OUTCOME_NAMES } from '../../../dashboard/ui/words.ts'

const STEPS = ['wait', 'claim', 'handler', 'mark', 'settle']
/** Of three channels from 0 to 255: less looks the same in a dot of ten pixels. */
const LEAST = 60

const tokens = readFileSync('dashboard/ui/styles/tokens.css', 'utf8')
const [light = '', dark = ''] = tokens.split(/:root\[data-theme='dark'\]/)

function colourOf(name: string, theme: 'light' | 'dark'): readonly number[] {
  const variable = new RegExp(`--fill-${name}: #([\\da-f]{6});`)
  const [, hex = ''] = (theme === 'dark' ? variable.exec(dark) : undefined) ?? variable.exec(light) ?? []
  expect(hex).toHaveLength(6)
  return [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16))
}

function distance(a: readonly number[], b: readonly number[]): number {
  return Math.hypot(...a.map((value, at) => value - (b[at] ?? 0)))
}

describe('the colours of a time line', () => {
  it.each(['light', 'dark'] as const)('tell a step from an end, and a step from another one: %s', (theme) => {
    const alike: string[] = []
    for (const step of STEPS) {
      for (const other of [...OUTCOME_NAMES, ...STEPS]) {
        if (step === other || (step === 'handler' && other === 'handled')) continue
        if (distance(colourOf(step, theme), colourOf(other, theme)) < LEAST) alike.push(`${step} ${other}`)
      }
    }
    expect(alike).toEqual([])
  })
})
