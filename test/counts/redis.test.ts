import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../kit/opened.ts'
import { backends } from '../kit/backends.ts'
import { startFaultProxy, type FaultProxy, type Listener } from '../kit/fault-proxy.ts'
import { withRedis } from '../kit/servers/clients.ts'
import { startPrivateRedis, type PrivateRedis } from '../kit/servers/private-redis.ts'
import { LIBRARIES } from '../redis/clients.ts'
import { changes } from './changes.ts'
import type { Counted } from './expected.ts'
import { countedRun } from './consumed.ts'
import { Lockstep } from './lockstep.ts'

const describeRedis = backends.has('redis') ? describe : describe.skip

describeRedis('what 1,000 messages cost at Redis', () => {
  let redis: PrivateRedis
  let proxy: FaultProxy
  let [sent, received] = [0, 0]

  beforeAllOpen(async (own) => {
    redis = own(await startPrivateRedis())
    const wire: Listener = {
      fromClient: ({ length }) => void (sent += length),
      fromServer: ({ length }) => void (received += length),
      closed: () => {},
    }
    proxy = own(await startFaultProxy(redis.port, () => wire))
  })

  for (const library of LIBRARIES) {
    for (const slots of [64, 256]) {
      const scene = `Redis lease, ${library.name}, ${slots} handlers at once`
      it(`costs what it did: ${scene}`, async () => {
        await using client = await library.connect(`redis://127.0.0.1:${proxy.port}`)
        const gate = new Lockstep(true)
        const meter = async (): Promise<Counted> => ({
          'round trips': gate.rounds,
          ...commandsIn(await withRedis(redis.url, (admin) => admin.info('commandstats'))),
          'bytes sent': sent,
          'bytes received': received,
        })
        const store = client.lease({ prefix: `counts-${library.name}-${slots}` })
        expect(changes(scene, await countedRun({ store, concurrency: slots, handle: () => {} }, gate, meter))).toBe('')
      })
    }
  }
})

/** What the looks at the numbers, and the starts of clients, do themselves. */
const OWN = /^(info|client|hello|ping|command|config|select|quit|auth)\b/

/** `evalsha` are scripts; all others run inside them. */
function commandsIn(info: string): Counted {
  const calls = new Map(
    [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name = '', n]) => [name, Number(n)]),
  )
  const inside = [...calls.keys()].filter((name) => name !== 'evalsha' && !OWN.test(name)).toSorted()
  return {
    scripts: calls.get('evalsha') ?? 0,
    ...Object.fromEntries(inside.map((name) => [`${name} in scripts`, calls.get(name) ?? 0])),
  }
}
