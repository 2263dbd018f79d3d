// Takes one lock again and again, in a process of its own that its test stops and continues.
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { withLock } from '../../src/index.ts'
import type { LeaseStore } from '../../src/internal.ts'
import type { StoreSpec } from '../kit/worker/spec.ts'
import { storeOf } from '../kit/worker/stores.ts'

export interface LockSpec {
  readonly store: StoreSpec
  /** The Redis that has the resource, wherever the lock is. */
  readonly resource: string
  /** A list there: what the resource took and refused. */
  readonly journal: string
  readonly rounds: number
}

/** The protected resource: it keeps the highest fence that it has seen, and refuses a smaller one. */
const RESOURCE = `
  local highest = tonumber(redis.call('get', KEYS[1] .. ':fence') or '0')
  local fence = tonumber(ARGV[1])
  local taken = fence >= highest
  if taken then redis.call('set', KEYS[1] .. ':fence', fence) end
  redis.call('rpush', KEYS[1], cjson.encode({ fence = fence, pid = ARGV[2], taken = taken }))
  return taken and 1 or 0`

const spec = JSON.parse(process.argv[2] ?? '') as LockSpec
const { journal, rounds } = spec
const redis = new Redis(spec.resource)

async function main(): Promise<void> {
  const store = (await storeOf(spec.store, 'lock')) as LeaseStore
  for (let round = 0; round < rounds;) {
    const end = await withLock(
      store,
      'one',
      async ({ fence }) => {
        // Ignores the signal on purpose: two writes, between which the process may be stopped.
        await redis.eval(RESOURCE, 1, journal, fence, process.pid)
        writeSync(1, `${fence}\n`)
        await sleep(20)
        await redis.eval(RESOURCE, 1, journal, fence, process.pid)
      },
      { leaseMs: 1_000, waitMs: 60_000 },
    )
    if (end.verdict !== 'busy') round++
  }
  process.exit(0)
}

void main()
