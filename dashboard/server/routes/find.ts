import { recordsInHand } from '../../../src/replay/find/in-hand.ts'
import type { FindAnswer } from '../../api.ts'
import { apiErrorOf } from '../http-error.ts'
import type { Shown } from '../consumers.ts'
import type { Asked, Services } from '../services.ts'

type Found = FindAnswer['found'][number]

/** Asks the stores of all consumers: a person who has an ID, a key or a place need not know whose it is. */
export async function find(services: Services, { params }: Asked): Promise<FindAnswer> {
  const text = params.text('id')
  const failed: { consumer: string; error: FindAnswer['failed'][number]['error'] }[] = []
  const found = await Promise.all(
    services.consumers.all.map(async (shown) => {
      try {
        return await foundIn(services, shown, text)
      } catch (error) {
        failed.push({ consumer: shown.id, error: apiErrorOf(error) })
        return []
      }
    }),
  )
  return { now: services.clock.now(), found: found.flat(), failed }
}

/** What was dead-lettered without a record, such as a conflict, is known only to the processes. */
async function foundIn(
  services: Services,
  { id: consumer, admin, entry }: Shown,
  text: string,
): Promise<readonly Found[]> {
  if (admin === undefined) return []
  const { records, at } = await recordsInHand(entry, text, { ask: (work) => services.asking(work) })
  if (at !== undefined) {
    const { key, state } = typeof at.record === 'string' ? { key: undefined, state: undefined } : at.record
    return [{ consumer, by: 'at', key, state }]
  }
  const known = await Promise.all(
    records.map(async ({ ref, key, state }) => {
      const isKnown = state !== 'absent' || (await services.live.entriesOf(entry.consumer.name, key)).length > 0
      return isKnown ? [{ consumer, by: typeof ref === 'string' ? 'id' : 'key', key, state } as const] : []
    }),
  )
  return known.flat()
}
