import { spawn } from 'node:child_process'
import { once as event } from 'node:events'
import { describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { bundledProgram } from '../kit/worker/bundled.ts'
import { CASES, endsOf, type Call, type Ending } from './ends.ts'

const ON_ALL = ['postgres', 'mariadb', 'redis'] as const
const describeOnAll = ON_ALL.every((on) => backends.has(on)) ? describe : describe.skip

interface Answer {
  readonly replayed?: boolean
  readonly code?: string
}

const call: Call = async (spec) => {
  const program = bundledProgram(new URL('program.ts', import.meta.url))
  const child = spawn(process.execPath, [program, JSON.stringify(spec)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let told = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    told += text
  })
  const [, signal] = (await event(child, 'close')) as unknown[]
  if (signal === 'SIGKILL' && told === '') return undefined
  return endingOf(JSON.parse(told) as Answer)
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
