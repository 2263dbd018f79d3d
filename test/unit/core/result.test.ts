import { describe, expect, it } from '@jest/globals'
import {
  failureOf,
  isFailure,
  keptIn,
  readResult,
  resultOf,
  sealedResult,
  withTrace,
} from '../../../src/core/result.ts'

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

describe('the trace that is kept with a result', () => {
  const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const failure = failureOf({ name: 'E', message: '' })

  it.each([undefined, resultOf(undefined), resultOf({ a: 1 }), failure, sealedResult(failure, () => 'x')])(
    'comes back beside it: %p',
    (result) => {
      const kept = withTrace(result, trace)
      expect(keptIn(kept ?? '')).toEqual({ result, trace })
      expect(isFailure(kept ?? '')).toBe(result?.toLowerCase().startsWith('f') ?? false)
    },
  )

  it('is not read out of a result without one', () => {
    for (const result of [resultOf(undefined), resultOf(trace), resultOf('x'.repeat(54)), failure]) {
      expect(keptIn(result)).toEqual({ result, trace: undefined })
    }
  })

  it('does not hide a result from those who read the whole text', () => {
    expect(readResult(withTrace(resultOf(7), trace) ?? '')).toEqual({ kind: 'value', value: 7 })
    expect(readResult(withTrace(undefined, trace) ?? '')).toEqual({ kind: 'value', value: undefined })
  })

  it('is a traceparent of the known version, or not kept', () => {
    for (const other of ['', '01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', `${trace} `, `${trace}-x`]) {
      expect(withTrace(undefined, other)).toBe(undefined)
      expect(withTrace('v1', other)).toBe('v1')
    }
  })
})
