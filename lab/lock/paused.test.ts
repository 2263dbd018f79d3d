import { spawn } from 'node:child_process'
import { once as event } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { Redis } from 'ioredis'
import { backends } from '../../test/kit/backends.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { server } from '../../test/kit/servers/server.ts'
import { LEASES_ON, type WorkerStore } from '../kit/worker-stores.ts'
import { bundledProgram } from '../kit/worker/bundled.ts'
import type { LockSpec } from './program.ts'

/** The resource is on Redis, wherever the lock is. */
const wanted = (['redis', 'postgres', 'mariadb'] as const).filter((on) => backends.has('redis') && backends.has(on))

const PROCESSES = 20
const ROUNDS = 5
/** Each this many grants, the holder is stopped for longer than its lease. */
const PAUSE_EVERY = 10
const PAUSE_MS = 1_500

interface Write {
  readonly fence: number
  readonly pid: string
  readonly taken: boolean
}

describe.each(wanted)('withLock on %s, held by processes that are stopped for longer than their lease', (on) => {
  let store: WorkerStore
  beforeAllOpen(async (own) => (store = own(await LEASES_ON[on]())))

  it('has no two holders with one fence, and the fence refuses every late write [T286]', async () => {
    const { url: resource } = await server('redis')
    const redis = new Redis(resource)
    const journal = uniqueName('journal')
    const spec: LockSpec = { store: store.spec, resource, journal, rounds: ROUNDS }
    const program = bundledProgram(new URL('program.ts', import.meta.url))
    let grants = 0
    let pauses = 0
    const pause = async (child: ReturnType<typeof spawn>): Promise<void> => {
      child.kill('SIGSTOP')
      pauses++
      await sleep(PAUSE_MS)
      child.kill('SIGCONT')
    }
    const run = async (): Promise<unknown> => {
      const child = spawn(process.execPath, [program, JSON.stringify(spec)], { stdio: ['ignore', 'pipe', 'inherit'] })
      child.stdout.on('data', () => {
        if (++grants % PAUSE_EVERY === 0) void pause(child)
      })
      return (await event(child, 'exit'))[0]
    }
    expect(await Promise.all(Array.from({ length: PROCESSES }, run))).toEqual(
      Array.from({ length: PROCESSES }, () => 0),
    )

    const writes = (await redis.lrange(journal, 0, -1)).map((text) => JSON.parse(text) as Write)
    const holders = new Map<number, Set<string>>()
    for (const { fence, pid } of writes) holders.set(fence, (holders.get(fence) ?? new Set()).add(pid))
    expect([...holders.values()].filter((pids) => pids.size > 1)).toEqual([])
    expect(holders.size).toBe(PROCESSES * ROUNDS)
    // Apart from refused writes, no holder writes between the first and the last write of another.
    const taken = writes.filter((write) => write.taken).map(({ fence }) => fence)
    expect(taken).toEqual(taken.toSorted((a, b) => a - b))
    // The pauses were real: late writes came, and were refused.
    const refused = writes.filter((write) => !write.taken)
    expect([pauses > 0, refused.length > 0, refused.length <= pauses]).toEqual([true, true, true])
    await redis.del(journal, `${journal}:fence`)
    redis.disconnect()
  }, 240_000)
})
