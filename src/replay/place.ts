import type { Key, RecordView } from '../core/record.ts'
import { isOtherPayload } from '../core/replay.ts'
import { horizonOf } from '../core/retention.ts'
import type { EpochMs } from '../core/units.ts'
import { definitionOf, type Consumer } from '../consumer/define-consumer.ts'
import { ConfigError, describeError, ReplayError } from '../foundation/errors.ts'
import { createKeyFinder, payloadHash, type Unidentified } from '../pipeline/intake/identify.ts'
import { shortened } from '../identity/digest.ts'
import type { Message } from '../ports/message.ts'
import type { ReplayItem, ReplayLedger, ReplayPlaces, ReplayReader } from '../ports/replay.ts'
import type { StoreAdmin } from '../ports/store-admin.ts'
import { checkSubscription } from '../people/check-subscription.ts'
import type { Subscription } from '../ports/subscription.ts'
import type { ResolvedConsumer } from '../consumer/resolve-options.ts'
import { scopeName } from '../consumer/scope.ts'
import { afterAll } from './proven.ts'
import { splitFrom, type Horizon } from './plan.ts'

/** What a replay needs of a consumer: its records, its identity, and the places of its broker. */
export class ReplayedConsumer {
  readonly consumer: Consumer
  readonly definition: ResolvedConsumer
  readonly subscription: Subscription
  readonly scope: string
  readonly admin: StoreAdmin
  /** @throws ReplayError `DECODER_UNREACHABLE` if a server that the decoder needs does not answer now */
  readonly keyOf: (message: Message) => Key | Unidentified | Promise<Key | Unidentified>
  /** `ctx.idempotencyKey` of its handler. @throws as `keyOf` */
  readonly idempotencyKeyOf: (message: Message) => string | Unidentified | Promise<string | Unidentified>

  /**
   * @param of - the function that got them, for a problem
   * @throws ConfigError `CONFIG_INVALID` for a store that people cannot look into, and for what is no subscription
   */
  constructor(consumer: Consumer, subscription: Subscription) {
    const definition = definitionOf(consumer)
    const { strategy, admin } = definition.store
    const wrong = (...problems: readonly string[]): ConfigError =>
      new ConfigError(problems.map((problem) => `consumer ${JSON.stringify(definition.name)}: ${problem}`))
    const problems: string[] = []
    checkSubscription(subscription, { needsOrigins: true }, problems)
    if (problems.length > 0) throw wrong(...problems)
    if (strategy === 'offsets') {
      throw wrong(
        `store: expected one with a record for each message, got strategy offsets: a position does not tell which messages were given up. \`consume-once positions ${definition.name}\` shows where each partition goes on. A message that is published to its topic again has a new position, and runs`,
      )
    }
    if (admin === undefined) throw wrong('store: expected one that people may look into (`admin`), got one without')
    this.consumer = consumer
    this.definition = definition
    this.subscription = subscription
    this.admin = admin
    this.scope = scopeName(definition, subscription.group)
    const find = createKeyFinder(definition, subscription.group)
    const keyOf: ReplayedConsumer['idempotencyKeyOf'] = (message) => {
      const key = find(message)
      if (!(key instanceof Promise)) return key
      return key.catch((error: unknown) => {
        throw this.decoderError(error)
      })
    }
    this.idempotencyKeyOf = keyOf
    this.keyOf = (message) => {
      const key = keyOf(message)
      return key instanceof Promise ? key.then(short) : short(key)
    }
  }

  /** Of a decoder that needs a server which does not answer now, such as a schema registry. */
  decoderError(cause: unknown): ReplayError {
    const of = `consumer ${JSON.stringify(this.definition.name)}: its decoder cannot read messages now`
    const advice =
      'See that the server that it asks runs, such as a schema registry, and that its address is right from here'
    return new ReplayError('DECODER_UNREACHABLE', `${of}: ${describeError(cause)}${causeOf(cause)}. ${advice}`, {
      cause,
    })
  }

  digestOf(message: Message): string {
    const hash = payloadHash(this.definition, message)
    // Not compared, as if it were unknown: a delivery of it would be dead-lettered.
    return typeof hash === 'string' ? shortened(hash) : ''
  }

  /** The record is of another message: this one came with its ID and another payload. */
  isConflict({ message, deadLetter }: ReplayItem, record: RecordView): boolean {
    return deadLetter?.reason === 'conflict' || isOtherPayload(record, this.digestOf(message))
  }

  /** Where replays keep their state. @throws ConfigError `CONFIG_INVALID` if the store has no such place */
  ledger(): ReplayLedger {
    if (this.admin.replays !== undefined) return this.admin.replays
    throw new ConfigError([
      `consumer ${JSON.stringify(this.consumer.name)}: store: expected one that keeps the state of replays (\`admin.replays\`), got one without: a plan can be made, but not run`,
    ])
  }

  /**
   * @param others - places that do not belong to the broker of the consumer, such as files
   * @throws ConfigError `CONFIG_INVALID`
   */
  open(from: string, others: readonly ReplayPlaces[]): Promise<ReplayReader> {
    const places = this.#places(others)
    const known = places.map(({ system }) => `${system}:`).join(', ')
    const split = splitFrom(from)
    const found = places.find(({ system }) => system === split?.system)
    if (found === undefined || split === undefined || split.place === '') {
      const advice =
        this.subscription.replay === undefined
          ? '; build the subscription by kafkaSubscription() or rabbitSubscription() to read its broker'
          : ''
      throw new ConfigError([`from: expected one of ${known} and a place, got ${JSON.stringify(from)}${advice}`])
    }
    return found.open(split.place)
  }

  /** Since when the absence of a record proves that a message was not handled. */
  async horizon(now: EpochMs): Promise<Horizon> {
    const { retentionMs } = this.definition
    const byRetention: Horizon = {
      at: horizonOf(now, retentionMs),
      because: 'records older than the retention are removed',
    }
    if (this.admin.knownSince === undefined) {
      return { at: afterAll(now), because: 'the store does not tell since when it has kept all records (`knownSince`)' }
    }
    const known = await this.admin.knownSince(this.scope)
    if (known === undefined) {
      return {
        at: afterAll(now),
        because: 'the store has no record of this consumer, so everything may have happened before',
      }
    }
    return known.at > byRetention.at ? known : byRetention
  }

  #places(others: readonly ReplayPlaces[]): readonly ReplayPlaces[] {
    const { replay } = this.subscription
    return replay === undefined ? others : [replay, ...others]
  }
}

/** `fetch failed` does not say what failed. */
function causeOf(error: unknown): string {
  const { cause } = (error ?? {}) as { readonly cause?: unknown }
  return cause === undefined ? '' : ` (${describeError(cause)})`
}

function short(key: string | Unidentified): Key | Unidentified {
  return typeof key === 'string' ? shortened(key) : key
}

/** The dead-letter places of a consumer, as `from` of a plan or a redrive. */
export function deadLetterPlaces(replay: ReplayPlaces | undefined): readonly string[] {
  return replay === undefined ? [] : replay.deadLetters.map((place) => `${replay.system}:${place}`)
}

/** A plan of this place is one of dead letters. */
export function isDeadLetterPlace(replay: ReplayPlaces | undefined, from: string): boolean {
  return deadLetterPlaces(replay).includes(from.replace(/@\d+$/, ''))
}

export function refused(why: string): ReplayError {
  return new ReplayError('REPLAY_REFUSED', why)
}
