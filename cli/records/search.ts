import type { Admin, ConfiguredConsumer, Key, OutboxRefused } from '../../src/index.ts'
import type { AuditEntry } from '../../src/internal.ts'
import { definitionOf } from '../../src/consumer/define-consumer.ts'
import { outboxFindings, type OutboxFinding } from '../../src/people/outbox-events.ts'
import { adviceOf, type Advice, type Advised } from '../../src/people/advice.ts'
import type { FoundMessage } from '../../src/replay/find/find.ts'
import { recordsInHand } from '../../src/replay/find/in-hand.ts'
import { searchedPlaces } from '../../src/replay/find/search.ts'
import { deadLetterPlaces } from '../../src/replay/place.ts'
import { printable, say } from '../output.ts'
import { titleOf, type Session } from '../session.ts'
import type { Inquiry } from './inquiry.ts'
import type { Shown } from './show.ts'

const MOST_LETTERS = 100
const MOST_DECISIONS = 50

export interface SearchFlags {
  readonly origin?: string
  readonly deadLetters: boolean
  readonly lookAtMost: number
}

/** What one consumer knows of the message. */
export interface Known {
  readonly consumer: string
  readonly scope: string
  readonly record: Shown
  readonly letters: readonly FoundMessage[]
  /** The newest first. */
  readonly decisions: readonly AuditEntry[]
  /** What its handler has published and no broker has confirmed. */
  readonly events: readonly OutboxRefused[]
  readonly findings: readonly OutboxFinding[]
  readonly advice: Advice
}

/** A message under the keys that one consumer may have it by. */
interface Sought {
  readonly entry: ConfiguredConsumer
  readonly admin: Admin
  /** Under each origin; some may be absent. */
  readonly records: readonly Shown[]
  /** A place was given, and the message there is another one with the ID of the record. */
  readonly isConflict: boolean
}

/** Asks stores and brokers for one message. Changes no record. */
export class Search {
  readonly #session: Session
  readonly #flags: SearchFlags
  readonly #inquiry: Inquiry

  constructor(session: Session, flags: SearchFlags, inquiry: Inquiry) {
    this.#session = session
    this.#flags = flags
    this.#inquiry = inquiry
  }

  /** Of the consumers that have a record of it; of all, if none has. */
  async records(what: string, entries: readonly ConfiguredConsumer[]): Promise<readonly Sought[]> {
    const sought: Sought[] = []
    for (const entry of entries) {
      const one = await this.#inquiry.tried(entry, () => this.#recordsOf(what, entry))
      if (one !== undefined) sought.push(one)
    }
    const having = sought.filter(({ records }) => records.some(isThere))
    return having.length > 0 ? having : sought
  }

  async knownOf({ entry, admin, records, isConflict }: Sought): Promise<readonly Known[]> {
    const letters = await this.#lettersOf(
      entry,
      records.map(({ key }) => key),
    )
    const known: Known[] = []
    const isOneOfMany = records.filter(isThere).length > 1
    for (const record of records) {
      const own = letters.filter(({ key }) => key === record.key)
      const decisions = (await this.#inquiry.tried(entry, () => this.#decisionsOn(entry, admin, record.key))) ?? []
      const events = (await this.#inquiry.tried(entry, () => this.#eventsOf(entry, record.key))) ?? []
      if (!isThere(record) && own.length === 0 && decisions.length === 0 && events.length === 0) continue
      const told = { ...record, idempotencyKey: record.idempotencyKey ?? own[0]?.idempotencyKey }
      const advice = this.#adviceOn(entry, told, { letters: own, isOneOfMany, isConflict })
      const findings = outboxFindings(events, this.#named(entry))
      const found = { record: told, letters: own, decisions, events, findings, advice }
      known.push({ consumer: titleOf(entry), scope: admin.scope, ...found })
    }
    return known
  }

  async #recordsOf(what: string, entry: ConfiguredConsumer): Promise<Sought> {
    const ask = <T>(work: () => Promise<T>): Promise<T> => this.#session.answer(work())
    const { admin, records, at } = await recordsInHand(entry, what, { origin: this.#flags.origin, ask })
    if (typeof at?.record === 'string') {
      say(`${titleOf(entry)}: ${printable(what)}: it has no usable message ID: ${at.record}`)
    }
    return { entry, admin, records, isConflict: at?.isConflict ?? false }
  }

  async #lettersOf(entry: ConfiguredConsumer, keys: readonly Key[]): Promise<readonly FoundMessage[]> {
    const { deadLetters, lookAtMost } = this.#flags
    if (!deadLetters) return []
    const places = searchedPlaces(entry, { topics: false })
    return this.#inquiry.find(places, { keys, lookAtMost, findAtMost: MOST_LETTERS })
  }

  async #decisionsOn({ consumer }: ConfiguredConsumer, admin: Admin, key: Key): Promise<readonly AuditEntry[]> {
    if (definitionOf(consumer).store.admin?.audit === undefined) return []
    return (await this.#session.answer(admin.audit({ key, limit: MOST_DECISIONS }))).entries
  }

  async #eventsOf({ consumer }: ConfiguredConsumer, key: Key): Promise<readonly OutboxRefused[]> {
    const { outbox } = definitionOf(consumer).store
    return outbox === undefined ? [] : this.#session.answer(outbox.unconfirmedOf(key))
  }

  #named(entry: ConfiguredConsumer): Pick<Advised, 'consumer' | 'consumers'> {
    const { consumer, subscription } = entry
    return {
      consumer: { id: titleOf(entry), name: consumer.name, deadLetters: deadLetterPlaces(subscription.replay) },
      consumers: this.#session.config.consumers.map((one) => ({ name: one.consumer.name })),
    }
  }

  #adviceOn(entry: ConfiguredConsumer, record: Shown, { letters, isOneOfMany, isConflict: isOther }: About): Advice {
    const id = typeof record.ref === 'string' ? record.ref : letters.find((one) => one.id !== undefined)?.id
    const message = { id, key: record.key, origin: isOneOfMany ? record.origin : undefined }
    const isConflict = isOther || (letters.length > 0 && letters.every((one) => one.isConflict))
    const { text, commands } = adviceOf(record, { ...this.#named(entry), message, isConflict })
    return { text, commands: commands.slice(0, 2) }
  }
}

interface About {
  readonly letters: readonly FoundMessage[]
  readonly isOneOfMany: boolean
  readonly isConflict: boolean
}

function isThere({ state }: Shown): boolean {
  return state !== 'absent'
}
