import { withoutSecrets } from '../../../src/foundation/without-secrets.ts'
import { redriveOutbox } from '../../../src/people/redrive-outbox.ts'
import type { Outbox } from '../../../src/ports/outbox.ts'
import { keyOfProvider } from '../../../src/records/key-in.ts'
import type { OutboxAnswer, OutboxesAnswer, OutboxRedriveAnswer } from '../../api.ts'
import type { Shown } from '../consumers.ts'
import { apiErrorOf, badRequest } from '../http-error.ts'
import type { Asked, Services } from '../services.ts'
import { reasonIn } from './decisions.ts'

/** Those of one answer. */
const MOST = 100

export async function outbox(services: Services, { params }: Asked): Promise<OutboxAnswer> {
  const of = outboxOfShown(services.consumers.of(params))
  const [backlog, refused] = await Promise.all([
    services.asking(() => of.backlog()),
    services.asking(() => of.refused()),
  ])
  const shown = refused.map((row) => ({
    ...row,
    cause: row.cause && withoutSecrets(row.cause),
    handled: keyOfProvider(row.messageId),
  }))
  return { now: services.clock.now(), backlog, refused: shown }
}

export async function outboxes(services: Services): Promise<OutboxesAnswer> {
  const sharing = new Map<Outbox, string[]>()
  for (const { id, definition } of services.consumers.all) {
    const { outbox: of } = definition.store
    if (of !== undefined) sharing.set(of, [...(sharing.get(of) ?? []), id])
  }
  const asked = [...sharing].map(([of, consumers]) =>
    services.outboxes.get(consumers.join(' '), () => backlogOf(services, of, consumers)),
  )
  return { now: services.clock.now(), outboxes: await Promise.all(asked) }
}

async function backlogOf(
  services: Services,
  of: Outbox,
  consumers: readonly string[],
): Promise<OutboxesAnswer['outboxes'][number]> {
  try {
    const backlog = await services.asking(() => of.backlog())
    const sumOf = (name: 'waiting' | 'parked'): number => backlog.reduce((sum, one) => sum + one[name], 0)
    const oldestMs = Math.max(0, ...backlog.map((one) => (one.waiting === 0 ? 0 : one.oldestMs)))
    return { consumers, waiting: sumOf('waiting'), parked: sumOf('parked'), oldestMs, error: undefined }
  } catch (error) {
    return { consumers, waiting: 0, parked: 0, oldestMs: 0, error: apiErrorOf(error) }
  }
}

export async function redriveRefused(services: Services, { params, principal }: Asked): Promise<OutboxRedriveAnswer> {
  const shown = services.consumers.of(params)
  const of = outboxOfShown(shown)
  const ids = new Set(params.maybeTexts('ids', MOST))
  if (ids.size === 0) throw badRequest('ids: expected at least one')
  const reason = reasonIn(params)
  const confirmed = params.maybeWhole('confirm', { least: 1, most: MOST })
  if (confirmed !== ids.size) throw badRequest(`confirm: expected ${ids.size}, the number of messages`)
  const refused = (await services.asking(() => of.refused())).filter(({ id }) => ids.has(id))
  const why = { by: principal.by.slice(0, 200), reason }
  const { redriven, isNoted } = await services.asking(() => redriveOutbox(shown.entry, refused, why))
  return { redriven, left: ids.size - redriven, isNoted }
}

/** @throws HttpError 400 for a store without one */
function outboxOfShown({ id, definition }: Shown): Outbox {
  const { outbox: found } = definition.store
  if (found !== undefined) return found
  throw badRequest(`${id}: its store has no outbox`)
}
