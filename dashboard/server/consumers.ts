import { adminOf, type Admin } from '../../src/people/admin.ts'
import { auditSourceOf, type AuditSource } from '../../src/people/audits.ts'
import type { ConfiguredConsumer } from '../../src/people/config.ts'
import { definitionOf } from '../../src/consumer/define-consumer.ts'
import { ConfigError } from '../../src/foundation/errors.ts'
import { deadLetterPlaces } from '../../src/replay/place.ts'
import type { ResolvedConsumer } from '../../src/consumer/resolve-options.ts'
import { scopeName, scopeText } from '../../src/consumer/scope.ts'
import type { ConsumerInfo } from '../api.ts'
import { badRequest, HttpError } from './http-error.ts'
import type { DashboardOptions } from './options.ts'
import type { Params } from './params.ts'
import { maySeePayload } from './payload.ts'

/** A consumer of the config, as the dashboard knows it. */
export interface Shown {
  readonly id: string
  readonly entry: ConfiguredConsumer
  readonly definition: ResolvedConsumer
  /** `undefined`: its store keeps no records that people may look into. */
  readonly admin: Admin | undefined
  /** `undefined`: its store keeps no audit. */
  readonly audit: AuditSource | undefined
  /** Reading a place is a delivery: a queue counts it, and a log does not. */
  readonly readingChanges: boolean
  readonly info: (readOnly: boolean) => ConsumerInfo
}

export class Consumers {
  readonly all: readonly Shown[]

  constructor(entries: readonly ConfiguredConsumer[], how: Pick<DashboardOptions, 'showPayload'>) {
    this.all = entries.map((entry) => shownOf(entry, maySeePayload(how, entry.consumer.name)))
    const ids = this.all.map(({ id }) => id)
    const twice = ids.find((id, at) => ids.indexOf(id) !== at)
    if (twice !== undefined) throw new ConfigError([`dashboard: consumers: ${twice} is there twice`])
  }

  /** @throws HttpError 404 */
  of(params: Params): Shown {
    const id = params.text('consumer')
    const found = this.all.find((one) => one.id === id)
    if (found !== undefined) return found
    throw new HttpError(404, 'HTTP_NOT_FOUND', `no consumer ${JSON.stringify(id)} in the config`)
  }
}

/** @throws HttpError 400 for a store without records */
export function adminOfShown({ id, admin }: Shown): Admin {
  if (admin !== undefined) return admin
  throw badRequest(`${id}: its store has no record for each message`)
}

/** For an ID that is in use under several origins. */
export function adminUnder(shown: Shown, origin: string | undefined): Admin {
  if (origin === undefined) return adminOfShown(shown)
  const { consumer, subscription } = shown.entry
  if (!subscription.origins.includes(origin))
    throw badRequest(`origin: expected one of ${subscription.origins.join(', ')}`)
  return adminOf(consumer, { ...subscription, origins: [origin] })
}

function shownOf(entry: ConfiguredConsumer, payload: boolean): Shown {
  const { consumer, subscription } = entry
  const definition = definitionOf(consumer)
  const { store } = definition
  const admin = store.strategy === 'offsets' || store.admin === undefined ? undefined : adminOf(consumer, subscription)
  const { replay, group, origins } = subscription
  const id = scopeText([group, consumer.name])
  const audit = auditSourceOf(consumer, group, id)
  const readingChanges = replay?.system === 'rabbitmq'
  const deadLetters = deadLetterPlaces(replay)
  const info = (readOnly: boolean): ConsumerInfo => ({
    id,
    name: consumer.name,
    group,
    origins,
    strategy: store.strategy,
    system: replay?.system,
    scope: scopeName(definition, group),
    retentionMs: definition.retentionMs,
    deadLetters,
    places: replay === undefined ? [] : [...origins.map((origin) => `${replay.system}:${origin}`), ...deadLetters],
    can: {
      records: admin !== undefined,
      positions: store.strategy === 'offsets',
      audit: audit !== undefined,
      plan: admin !== undefined && replay !== undefined && !(readOnly && readingChanges),
      replay: replay !== undefined && store.admin?.replays !== undefined && admin !== undefined,
      place: admin !== undefined && replay?.system === 'kafka',
      deadLetters: admin !== undefined && deadLetters.length > 0 && !(readOnly && readingChanges),
      payload,
      outbox: store.outbox !== undefined,
    },
  })
  return { id, entry, definition, admin, audit, readingChanges, info }
}
