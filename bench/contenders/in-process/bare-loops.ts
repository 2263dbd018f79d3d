import { hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Job, Measurement } from '../../suite.ts'
import { ID_HEADER } from '../../tally.ts'
import { messagesOf } from './messages.ts'
import { PreparedSource, type Pace } from './prepared-source.ts'
import { warmed } from './warmed.ts'

type Run = (job: Job) => Promise<Measurement>

/** Code without any store: an async handler, a Set of IDs, 64 messages at a time. */
export const setOfIds: Run = loopWith((id) => id.toString())

/** The same with a digest of the ID and of the payload: no library that compares both can cost less. */
export const setOfDigests: Run = loopWith((id, value) => {
  hash('sha256', value ?? '', 'base64url')
  return hash('sha256', id, 'base64url')
})

function loopWith(keyOf: (id: Buffer, value: Uint8Array | null) => string): Run {
  return warmed(async (job, tally) => {
    const messages = messagesOf(job)
    const seen = new Set<string>()
    const handle = async (id: Buffer): Promise<void> => tally.started(id)
    tally.arrived()
    for (let at = 0; at < messages.length; at += 64) {
      const batch = messages.slice(at, at + 64)
      await Promise.all(
        batch.map(async ({ headers, value }) => {
          const id = headers[ID_HEADER] as Buffer
          const key = keyOf(id, value)
          if (seen.has(key)) return
          seen.add(key)
          await handle(id)
        }),
      )
      tally.ended(batch.length)
      await nextTurn()
    }
  })
}

/** Cost of the harness without the library: each delivery is settled as it comes. */
export function sourceAlone(pace: Pace): Run {
  return warmed(async (job, tally) => {
    const source = new PreparedSource(messagesOf(job), tally, pace)
    await source.open({
      capacity: { maxInFlight: 1_000, handlers: 1, claims: 1, leaseMs: 30_000, longestRunMs: 65_000, maxAttempts: 5 },
      deliver: (deliveries) => {
        for (const delivery of deliveries) {
          tally.started(delivery.message.headers[ID_HEADER])
          delivery.settle()
        }
      },
      standingChanged: () => {},
      report: () => {},
    })
    await tally.complete
  })
}
