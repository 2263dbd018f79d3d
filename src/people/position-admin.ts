import { ofRead } from './of-read.ts'
import { DECIDER, type Decider } from './decider.ts'
import { definitionOf, type Consumer } from '../consumer/define-consumer.ts'
import { ConfigError } from '../foundation/errors.ts'
import { either, ELSEWHERE, needed, oneOf, optionsOf, where, type Table, nowCalled } from '../foundation/options.ts'
import { checkSubscription } from './check-subscription.ts'
import type { Subscription } from '../ports/subscription.ts'
import type { HoldVerdict, ListedPosition, Positions } from '../ports/store.ts'
import { scopeName } from '../consumer/scope.ts'

/** The offset at which a held partition goes on. */
export type GoOnFrom =
  /** The stored position is right: the partition is the one it was stored for. */
  | 'position'
  /** Offset 0: the topic was created anew, and every message of it is handled. */
  | 'beginning'
  /** This offset: earlier messages are not handled. */
  | bigint

type ReleaseOptions = Decider & { readonly goOnFrom: GoOnFrom }

const RELEASE: Table<ReleaseOptions> = {
  ...DECIDER,
  goOnFrom: needed(
    either(
      oneOf('position', 'beginning'),
      where<bigint>('an offset as a bigint', (value) => typeof value === 'bigint' && value >= 0n),
    ),
  ),
  [ELSEWHERE]: { from: nowCalled('goOnFrom') },
}

/** Operations for people on the positions of one consumer. None of them opens or closes the store. */
export interface PositionAdmin {
  /** The name of the scope in the store. Use it to read the audit. */
  readonly scope: string
  /** Every partition that has a position, as `topic/partition`, sorted by name. Changes nothing. */
  list(): Promise<readonly ListedPosition[]>
  /**
   * Ends the hold of a partition. A running consumer goes on within half a minute.
   *
   * @throws ConfigError `CONFIG_INVALID` for an offset below 0, or a `by` or `reason` that the audit cannot store
   */
  release(stream: string, how: Decider & { readonly goOnFrom: GoOnFrom }): Promise<HoldVerdict>
}

/**
 * Operations for people on the positions of a consumer with a store of strategy `offsets`. For stores that keep records
 * use `adminOf`.
 *
 * @throws ConfigError `CONFIG_INVALID` for a store of another strategy
 */
export function positionsOf(consumer: Consumer, subscription: Pick<Subscription, 'group'>): PositionAdmin {
  const definition = definitionOf(consumer)
  const { name, store } = definition
  const problems: string[] = []
  checkSubscription(subscription, { needsOrigins: false }, problems)
  const positions = store.strategy === 'offsets' ? store.positions : undefined
  if (positions === undefined) problems.push(`store: expected one of strategy offsets, got ${store.strategy}`)
  if (positions === undefined || problems.length > 0) {
    throw new ConfigError(problems.map((text) => `consumer ${JSON.stringify(name)}: ${text}`))
  }
  const scope = scopeName(definition, subscription.group)
  return {
    scope,
    list: () => ofRead(positions.list(scope)),
    release: (stream, how) => release(positions, { scope, stream }, how, name),
  }
}

async function release(
  positions: Positions,
  { scope, stream }: { readonly scope: string; readonly stream: string },
  how: ReleaseOptions,
  name: string,
): Promise<HoldVerdict> {
  const { goOnFrom: from, by, reason } = optionsOf(`consumer ${JSON.stringify(name)}`, RELEASE, how)
  const offset = from === 'position' ? undefined : from === 'beginning' ? 0n : from
  return positions.release(scope, stream, { from: offset, by, reason })
}
