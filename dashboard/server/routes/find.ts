import type { RecordRef } from '../../../src/people/admin.ts'
import type { FindAnswer } from '../../api.ts'
import { apiErrorOf } from '../http-error.ts'
import type { Shown } from '../consumers.ts'
import type { Asked, Services } from '../services.ts'

type Found = FindAnswer['found'][number]

/** As the log and the lists show it. */
const KEY = /^[\w-]{22}$/

/** Asks the stores of all consumers: a person who has an ID need not know whose it is. */
export async function find(services: Services, { params }: Asked): Promise<FindAnswer> {
  const id = params.text('id')
  const failed: { consumer: string; error: FindAnswer['failed'][number]['error'] }[] = []
  const found = await Promise.all(
    services.consumers.all.map(async (shown) => {
      try {
        return await foundIn(services, shown, id)
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
  id: string,
): Promise<readonly Found[]> {
  if (admin === undefined) return []
  const refs: readonly RecordRef[] = KEY.test(id) ? [id, { key: id }] : [id]
  const records = await services.asking(() => admin.inspect(refs))
  const known = await Promise.all(
    records.map(async ({ key, state }) => {
      const isKnown = state !== 'absent' || (await services.live.entriesOf(entry.consumer.name, key)).length > 0
      return isKnown ? [{ consumer, key, state }] : []
    }),
  )
  return known.flat()
}
