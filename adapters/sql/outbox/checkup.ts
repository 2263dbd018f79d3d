import {
  checkFindings,
  describeError,
  durationText,
  outgoingOf,
  type AtStart,
  type CheckFinding,
  type Complete,
  type OutboxBacklog,
} from '../../../src/internal.ts'
import type { Script, Sessions } from '../session.ts'
import { backlogOf, type OutboxStatements } from './statements.ts'
import type { OutboxOptions } from './types.ts'

export interface CheckedOutbox {
  readonly sessions: Sessions
  readonly statements: OutboxStatements
  /** Schema or database of its table. */
  readonly place: string
  readonly options: Pick<Complete<OutboxOptions, 'maxAttempts' | 'observe'>, 'publishers' | 'relay'>
}

const AT_START = {
  rights: { startsBecause: 'Messages whose handlers publish nothing are handled.' },
} as const satisfies Record<string, AtStart>

const { holds, weaker, broken, unknown } = checkFindings('outbox', AT_START)

/** A relay publishes within milliseconds, and tries again after a minute at most. */
const MINUTE_MS = 60_000
const LONG_MS = MINUTE_MS

const BROKERS = { kafka: 'Kafka', rabbitmq: 'RabbitMQ' } as const

/**
 * Checks whether messages can be written and published, and what waits. Changes nothing: what it tries is rolled back.
 * Rejects if the server cannot be reached.
 */
export async function checkOutbox(checked: CheckedOutbox): Promise<readonly CheckFinding[]> {
  const { sessions, statements, place, options } = checked
  const writing = await refusalOf(checked, statements.write([TRIAL]))
  if (writing !== undefined && statements.isBeforeTables(writing)) return [judgeNoTable(place)]
  const publishing = options.relay
    ? await refusalOf(
        checked,
        statements.settle([NO_ROW], [{ row: NO_ROW, as: 'refused', cause: '', retryAfterMs: 1 }]),
      )
    : undefined
  const rights = [
    ...(writing === undefined ? [] : [judgeRefusal(checked, 'written', writing)]),
    ...(publishing === undefined ? [] : [judgeRefusal(checked, 'published', publishing)]),
  ]
  const found = rights.length > 0 ? rights : [holds('rights', 'a message was written, and rolled back')]
  try {
    const backlog = (await sessions.committed(statements.backlog())).map(backlogOf)
    return [...found, ...judgeBacklog(backlog, options)]
  } catch (error) {
    if (!sessions.errors.isRefusal(error)) throw error
    return [...found, unknown('backlog', 'the role may not read the outbox', `${describeError(error)}.`)]
  }
}

const TRIAL = outgoingOf({ topic: 'consume-once', value: '' }, { messageId: 'trial', order: 'trial' })
/** No row has this ID: they count from 1. */
const NO_ROW = { ...TRIAL, id: '0', attempts: 0, hasWaited: false }

async function refusalOf({ sessions }: CheckedOutbox, script: Script): Promise<unknown> {
  try {
    const { session } = await sessions.begin(script)
    await session.rollback()
    return undefined
  } catch (error) {
    if (sessions.errors.isRefusal(error)) return error
    throw error
  }
}

function judgeNoTable(place: string): CheckFinding {
  const meaning =
    "outbox.publish() in a transaction of yours fails until then. A start of a consumer or of the relay makes the table, with setup: 'auto'; `consume-once migrate up` makes it now."
  return weaker('table', `no outbox in ${place}`, meaning)
}

function judgeRefusal({ sessions }: CheckedOutbox, what: 'written' | 'published', error: unknown): CheckFinding {
  const advice = sessions.errors.advice(error)
  const follows =
    what === 'written' ? 'A handler that publishes fails.' : 'Messages wait, and this process cannot publish them.'
  const meaning = `${follows} ${describeError(error).replace(/\.+$/, '')}.${advice === undefined ? '' : ` ${advice}.`}`
  return broken('rights', `no message can be ${what}`, meaning)
}

function judgeBacklog(
  backlog: readonly OutboxBacklog[],
  { publishers, relay }: CheckedOutbox['options'],
): readonly CheckFinding[] {
  const found = backlog.flatMap((one) => [
    ...judgeParked(one),
    ...(one.waiting === 0
      ? []
      : relay && publishers[one.system] === undefined
        ? [judgeUnpublished(one)]
        : one.failing > 0
          ? [judgeRefused(one)]
          : one.oldestMs > LONG_MS
            ? [judgeWaiting(one, relay)]
            : []),
  ])
  return found.length > 0 ? found : [holds('backlog', 'nothing is parked, refused or late')]
}

function judgeParked({ place, parked }: OutboxBacklog): readonly CheckFinding[] {
  if (parked === 0) return []
  const meaning =
    'Nobody publishes them until a person says so: `consume-once inspect <consumer> --outbox` has the reasons, `redrive <consumer> --outbox` tries them again.'
  return [weaker('parked', `${place}: ${parked} parked`, meaning)]
}

function judgeUnpublished({ place, system, waiting }: OutboxBacklog): CheckFinding {
  const meaning = `Each counts as refused. Give the outbox publishers: { ${system}: confirmedPublisher(...) }.`
  return weaker('publishers', `${place}: ${waiting} wait, and there is no publisher for ${BROKERS[system]}`, meaning)
}

function judgeRefused({ place, failing, waiting }: OutboxBacklog): CheckFinding {
  const meaning =
    'They are tried again, and what is of the same line, such as of the same key on Kafka, waits behind them. `consume-once inspect <consumer> --outbox` has the reasons: a topic or an exchange that is missing, a right, a size?'
  return weaker('refused', `${place}: ${failing} of ${waiting} that wait were refused by the broker`, meaning)
}

function judgeWaiting({ place, waiting, oldestMs }: OutboxBacklog, relay: boolean): CheckFinding {
  const whose = relay
    ? 'Start a consumer on this store, outbox.start() or `consume-once relay`'
    : 'With relay: false consumers publish nothing. Run `consume-once relay`, or outbox.start() in a process of its own'
  const meaning = `Nothing was refused, so no relay runs, or its broker does not answer. ${whose}, and look whether the broker is there.`
  const unit = oldestMs < 2 * MINUTE_MS ? 1_000 : MINUTE_MS
  const age = durationText(Math.round(oldestMs / unit) * unit)
  return weaker('relay', `${place}: ${waiting} wait, the oldest for ${age}`, meaning)
}
