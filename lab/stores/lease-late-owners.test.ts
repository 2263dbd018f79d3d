import { spawnSync } from 'node:child_process'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { NoEffectError, runInline, type Store } from '../../src/index.ts'
import { type ClaimAnswer, type ClaimRequest } from '../../src/internal.ts'
import { claim, claimAll, hold, leaseEnds, newItem, newToken } from '../../testing/contract/store/claims.ts'
import { backends } from '../../test/kit/backends.ts'
import { startFaultProxy, type FaultProxy } from '../../test/kit/fault-proxy.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { aborted, gate } from '../../test/kit/rig.ts'
import { server } from '../../test/kit/servers/server.ts'
import { leaseAt, MESSAGE, ownerOf, type LeaseAt, type LeasePlace } from './lease-at.ts'
import { newMysqlPlace } from '../../test/mysql/support.ts'
import { newPlace } from '../../test/pg/support.ts'
import { compiled } from '../../test/kit/compiled.ts'
import { redisHarness } from '../../test/redis/harness.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  jest.restoreAllMocks()
  for (const close of closing.splice(0).toReversed()) await close()
})

async function open(place: LeasePlace): Promise<LeaseAt> {
  const lease = await leaseAt(place)
  closing.push(lease.close)
  await lease.store.open()
  return lease
}

async function redisPlace(library: 'ioredis' | 'node-redis'): Promise<LeasePlace> {
  const { url } = await server('redis')
  const harness = await redisHarness(url)
  closing.push(harness.close)
  return { library, url, prefix: harness.prefix }
}

const STORES = [
  ['redisLease by ioredis', 'redis', () => redisPlace('ioredis')],
  ['redisLease by node-redis', 'redis', () => redisPlace('node-redis')],
  [
    'postgresLease',
    'postgres',
    async (): Promise<LeasePlace> => {
      const { schema, close } = await newPlace()
      closing.push(close)
      return { library: 'pg', url: (await server('postgres')).url, schema }
    },
  ],
  [
    'mysqlLease',
    'mariadb',
    async (): Promise<LeasePlace> => {
      const { database, close } = await newMysqlPlace()
      closing.push(close)
      return {
        library: 'mysql2',
        url: Object.assign(new URL((await server('mariadb')).url), { pathname: database }).href,
      }
    },
  ],
] as const

for (const [name, backend, newLeasePlace] of STORES) {
  const describeHere = backends.has(backend) ? describe : describe.skip

  describeHere(`${name}, of an owner that is late,`, () => {
    it('gives a message whose owner blocked its event loop to another process, and refuses the late mark [T21]', async () => {
      const place = await newLeasePlace()
      const { store } = await open(place)
      const [group, told]: [string, string[]] = [uniqueName('group'), []]
      const consumer = ownerOf(store, async ({ signal }) => {
        told.push(blockUntilTakenOver(place, group))
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        told.push((signal.reason as { code: string }).code)
      })
      const running = runInline(consumer, { group })
      const marks = jest.spyOn(store, 'mark')
      expect(await running.handle(MESSAGE)).toMatchObject({ outcome: 'duplicate', settle: 'ack' })
      await running.stop()
      expect(told).toEqual(['handled 2', 'LEASE_LOST'])
      await expect(marks.mock.results.at(-1)?.value).resolves.toEqual(['refused-done'])
    }, 60_000)

    it('is aborted before another process can take over, when it is cut off from its store [T17]', async () => {
      const place = await newLeasePlace()
      const { port } = new URL(place.url)
      const proxy = await startFaultProxy(Number(port))
      closing.push(() => proxy.stop())
      const [{ store }, { store: rival }] = [await open(through(proxy, place)), await open(place)]
      const claims = jest.spyOn(store, 'claim')
      const told: string[] = []
      const cutOff = gate()
      const consumer = ownerOf(store, async ({ signal }) => {
        if (told.length > 0) return
        proxy.refuse()
        proxy.cut()
        cutOff.open()
        await aborted(signal)
        told.push((signal.reason as { code: string }).code)
        throw new NoEffectError('stopped in time')
      })
      const running = runInline(consumer, { group: uniqueName('group') })
      const handled = running.handle(MESSAGE)
      await cutOff.opened
      // Before it: what an open tries out.
      const [claimed] = claims.mock.calls.at(-1) ?? []
      const taken = await takeOver(rival, claimed)
      told.push('taken over')
      await rival.mark([taken.claim])
      proxy.accept()
      expect(await handled).toMatchObject({ outcome: 'duplicate', settle: 'ack' })
      await running.stop()
      expect(told).toEqual(['LEASE_LOST', 'taken over'])
    }, 15_000)

    it.each([-86_400_000, 86_400_000])('does not depend on a clock that has jumped by %d ms', async (jumpMs) => {
      const place = await newLeasePlace()
      const [{ store }, { store: rival }] = [await open(place), await open(place)]
      const [held, ended, marked] = [newItem(), newItem(), newItem()]
      const [ofHeld, , ofMarked] = [
        await hold(store, held),
        await hold(store, ended, { leaseMs: 20 }),
        await hold(store, marked),
      ]
      await leaseEnds({ store, secondStore: async () => rival, close: async () => {} }, ended)
      const now = Date.now.bind(Date)
      jest.spyOn(Date, 'now').mockImplementation(() => now() + jumpMs)
      expect(await store.renew([ofHeld.claim], 60_000)).toEqual(['renewed'])
      expect(await store.mark([ofMarked.claim])).toEqual(['marked'])
      const answers = await claimAll(rival, [held, ended, marked])
      expect(answers.map(({ verdict }) => verdict)).toEqual(['busy', 'in-doubt', 'done'])
      expect(await claim(rival, ended, { alone: true })).toMatchObject({ verdict: 'taken-over', fence: 2, attempt: 2 })
    })
  })
}

// Compiled before a lease is running out.
const RIVAL = compiled(new URL('lease-rival.ts', import.meta.url))

function through({ port }: FaultProxy, place: LeasePlace): LeasePlace {
  return { ...place, url: Object.assign(new URL(place.url), { port: String(port), hostname: '127.0.0.1' }).href }
}

/** As soon as the store lets it. */
async function takeOver(
  store: Store,
  claimed: ClaimRequest | undefined,
): Promise<Extract<ClaimAnswer, { claim: unknown }>> {
  if (claimed === undefined) throw new Error('nothing was claimed')
  const request = { ...claimed, token: newToken(), alone: true }
  for (let attempt = 0; attempt < 10_000; attempt++) {
    const [answer] = await store.claim(request)
    if (answer?.verdict === 'taken-over') return answer
    if (answer?.verdict !== 'busy') throw new Error(`expected busy or taken-over, got ${answer?.verdict}`)
  }
  throw new Error('the lease does not end')
}

/** Until another process has had the message, which it can have only once the lease is over. */
function blockUntilTakenOver(place: LeasePlace, group: string): string {
  const args = [RIVAL, JSON.stringify([place, group])]
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 30_000 })
  if (status !== 0) throw new Error(`the other process ended by ${status}: ${stderr}`)
  return stdout
}
