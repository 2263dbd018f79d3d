import { describe, expect, it } from '@jest/globals'
import { failureOf, isFailure, readResult, resultOf } from '../../../src/core/result.ts'

describe('a result', () => {
  it.each([undefined, null, '', 0, false, [], {}, 'f', { a: ['\u0000', '\ud800'] }])(
    'comes back as it was: %p',
    (value) => {
      const result = resultOf(value)
      expect(result).not.toBe('')
      expect(isFailure(result)).toBe(false)
      expect(readResult(result)).toEqual({ kind: 'value', value })
    },
  )

  it('holds neither NUL nor a lone surrogate, which databases refuse', () => {
    const result = resultOf('\u0000 \ud800')
    expect(result).not.toContain('\u0000')
    expect(result.isWellFormed()).toBe(true)
  })

  it('may be a failure', () => {
    const failure = { name: 'RangeError', message: 'no such customer', code: 'UNKNOWN' }
    expect(isFailure(failureOf(failure))).toBe(true)
    expect(readResult(failureOf(failure))).toEqual({ kind: 'failure', failure })
    expect(readResult(failureOf({ name: 'E', message: '' }))).toEqual({
      kind: 'failure',
      failure: { name: 'E', message: '' },
    })
  })

  it.each([() => 1, Symbol('s'), 1n])('refuses what JSON cannot say: %p', (value) => {
    expect(() => resultOf(value)).toThrow(TypeError)
  })

  it('refuses what it has not written', () => {
    expect(() => readResult('x1')).toThrow(/begin with u, v or f/)
  })
})
