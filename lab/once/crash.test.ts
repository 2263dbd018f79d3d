import { spawn } from 'node:child_process'
import { once as event } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { newFolder } from '../../test/kit/servers/private-instance.ts'
import { SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { bundledProgram } from '../kit/worker/bundled.ts'
import { openStores, type WorkerStores } from '../kit/worker-stores.ts'
import type { DieAt, OnceSpec } from './program.ts'

const describeOnBoth = backends.has('postgres') && backends.has('redis') ? describe : describe.skip

const RAN = { result: 'ok', replayed: false }
const REPLAYED = { result: 'ok', replayed: true }
const PARKED = { code: 'ONCE_SET_ASIDE' }

/** What the call after the crash gets, and how many effects there are then. */
type Ends = Readonly<Record<Exclude<DieAt, 'never'>, readonly [answer: unknown, effects: number]>>

const INBOX: Ends = {
  'before the claim is answered': [RAN, 1],
  'in the function': [RAN, 1],
  'before the mark': [RAN, 1],
  'after the mark': [REPLAYED, 1],
}
const RERUN: Ends = { ...INBOX, 'in the function': [RAN, 2], 'before the mark': [RAN, 2] }
const PARK: Ends = {
  'before the claim is answered': [PARKED, 0],
  'in the function': [PARKED, 1],
  'before the mark': [PARKED, 1],
  'after the mark': [REPLAYED, 1],
}

async function run(spec: OnceSpec): Promise<{ readonly signal: unknown; readonly answer: unknown }> {
  const program = bundledProgram(new URL('program.ts', import.meta.url))
  const child = spawn(process.execPath, [program, JSON.stringify(spec)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let told = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    told += text
  })
  const [, signal] = (await event(child, 'close')) as unknown[]
  return { signal, answer: told === '' ? undefined : JSON.parse(told) }
}

describeOnBoth('a process that is killed in a call of once()', () => {
  let stores: WorkerStores
  beforeAll(async () => {
    stores = await openStores()
  }, SERVER_WITHIN_MS)
  afterAll(async () => stores[Symbol.asyncDispose]())

  async function life(
    on: 'inbox' | 'lease',
    dieAt: DieAt,
    onInDoubt?: 'rerun' | 'park',
  ): Promise<readonly [unknown, number]> {
    const key = uniqueName('key')
    const file = join(newFolder('once'), 'effects')
    writeFileSync(file, '')
    const spec: OnceSpec = { store: stores[on], key, file, dieAt, ...(onInDoubt && { onInDoubt }) }
    expect(await run(spec)).toEqual({ signal: 'SIGKILL', answer: undefined })
    const { answer } = await run({ ...spec, dieAt: 'never' })
    const effects = on === 'inbox' ? await stores.committed(key) : readFileSync(file, 'utf8').split('\n').length - 1
    return [answer, effects]
  }

  it.each([
    ['an inbox has no second effect, whatever step it was', 'inbox', undefined, INBOX],
    ['a lease runs again what is in doubt, and nothing else', 'lease', 'rerun', RERUN],
    ['a lease parks what is in doubt, and nothing runs twice', 'lease', 'park', PARK],
  ] as const)(
    '%s',
    async (_name, on, onInDoubt, ends) => {
      const points = Object.keys(ends) as (keyof Ends)[]
      const lives = await Promise.all(points.map(async (point) => [point, await life(on, point, onInDoubt)] as const))
      expect(Object.fromEntries(lives)).toEqual(ends)
    },
    90_000,
  )
})
