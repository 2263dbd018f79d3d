import { describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { runProgram } from '../kit/worker/bundled.ts'
import { CASES, endsOf, type Call, type Ending } from './ends.ts'

const ON_ALL = ['postgres', 'mariadb', 'redis'] as const
const describeOnAll = ON_ALL.every((on) => backends.has(on)) ? describe : describe.skip

interface Answer {
  readonly replayed?: boolean
  readonly code?: string
}

const call: Call = async (spec) => {
  const told = await runProgram<Answer>(new URL('program.ts', import.meta.url), spec)
  return told === 'killed' ? undefined : endingOf(told)
}

function endingOf({ replayed, code }: Answer): Ending {
  if (code !== undefined) expect(code).toBe('ONCE_SET_ASIDE')
  if (code !== undefined) return 'in doubt'
  return replayed === true ? 'replayed' : 'ran'
}

describeOnAll('a process that is killed in a call of once()', () => {
  it.each(CASES)(
    'once(), killed at each step: %s [T260]',
    async (_name, open, onInDoubt, ends) => {
      await using store = await open()
      expect(await endsOf(call, store, onInDoubt)).toEqual(ends)
    },
    90_000,
  )
})
