import { describe, expect, it } from '@jest/globals'
import type { JestReport } from '../kit/run-jest.ts'
import { outcomeOf, failureWithout } from './killing-test.ts'

const TEST = { file: 'test/a.test.ts', title: 'a mark.*is refused' }

describe('a mutant', () => {
  it('is killed by an expectation that failed', () => {
    expect(outcomeOf(TEST, reported('failed', 'expected refused, got marked'), '/tree')).toEqual({
      kind: 'killed',
      by: 'a mark is refused',
    })
  })

  it('lives where the test passes with it', () => {
    expect(outcomeOf(TEST, reported('passed'), '/tree')).toMatchObject({ kind: 'alive' })
  })

  it.each([
    ['a test that hangs', reported('failed', 'thrown: "Exceeded timeout of 30000 ms for a test."')],
    ['code that cannot be loaded', { testResults: [{ ...file(), status: 'failed' }] }],
    ['a title that is found nowhere', { testResults: [] }],
    ['jest without a report', undefined],
  ])('is not killed by %s', (_what, report) => {
    expect(outcomeOf(TEST, report, '/tree')).toMatchObject({ kind: 'unproven' })
  })

  it('is judged only by a test that passes without it', () => {
    expect(failureWithout(TEST, reported('passed'), '/tree')).toBeUndefined()
    expect(failureWithout(TEST, reported('failed', 'no server'), '/tree')).toMatchObject({ kind: 'unproven' })
    expect(failureWithout({ ...TEST, title: 'misspelt' }, reported('passed'), '/tree')).toMatchObject({
      kind: 'unproven',
    })
  })
})

function reported(status: 'passed' | 'failed', message?: string): JestReport {
  const messages = message === undefined ? [] : [message]
  const test = { fullName: 'a mark is refused', status, failureMessages: messages }
  return { testResults: [{ ...file(), assertionResults: [test] }] }
}

function file(): JestReport['testResults'][number] {
  return { name: '/tree/test/a.test.ts', status: 'passed', assertionResults: [] }
}
