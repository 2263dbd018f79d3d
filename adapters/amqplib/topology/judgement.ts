import { shown } from '../options/shown.ts'
import type { RabbitSettings } from '../options/resolve.ts'
import type { QueueArguments, QueuePlan } from './plans.ts'
import type { Declaration } from './questions.ts'
import { isAtLeast } from './server-version.ts'

/** A difference between an existing queue and the queue that the consumer needs. */
export interface Finding {
  readonly event:
    | 'delivery-limit'
    | 'message-limits'
    | 'durability'
    | 'dead-letter-strategy'
    | 'single-active-consumer'
    | 'delay-queue'
    | 'queue-mismatch'
    | 'queue-unknown'
  readonly detail: string
}

export interface Judgement {
  /** The consumer cannot work with these. */
  readonly problems: readonly string[]
  readonly findings: readonly Finding[]
}

const NO_POLICIES = 'What a policy adds cannot be seen from here'

/** Differences between wanted and declared arguments, except the delivery limit. */
export function differences(
  wanted: QueueArguments,
  { durable, autoDelete, arguments: declared }: Declaration,
): string[] {
  const names = new Set([...Object.keys(wanted), ...Object.keys(declared)])
  names.delete('x-delivery-limit')
  return [
    { name: 'durable', here: true, there: durable },
    { name: 'auto-delete', here: false, there: autoDelete },
    ...[...names].map((name) => ({ name, here: wanted[name], there: typed(declared)[name] })),
  ]
    .filter(({ here, there }) => here !== there)
    .map(({ name, here, there }) => `${name}: expected ${shown(here)}, got ${shown(there)}`)
}

/** Checks a queue that this consumer would have declared differently, or not at all. */
export function judge(
  plan: QueuePlan,
  declaration: Declaration,
  { settings, version }: { readonly settings: RabbitSettings; readonly version: string },
): Judgement {
  const declared = typed(declaration.arguments)
  const findings: Finding[] = []
  const problems: string[] = []
  const { 'x-dead-letter-exchange': exchange } = declared
  switch (plan.role) {
    case 'consumed': {
      const isActiveAlone = declared['x-single-active-consumer'] === true
      if (isActiveAlone !== settings.singleActiveConsumer) findings.push(otherActive(plan, isActiveAlone))
      if (settings.deadLetter.kind === 'reject' && exchange !== undefined && !losesNothing(declared)) {
        findings.push(lossyReject(plan))
      }
      if (settings.deadLetter.kind === 'reject' && exchange === undefined) {
        problems.push(
          `queue ${plan.name}: expected x-dead-letter-exchange with deadLetter: 'reject', got none: the broker would drop dead letters. Declare the queue with one, or leave deadLetter out. ${NO_POLICIES}: if one sets it, choose setup: 'off'`,
        )
      }
      if (settings.retry.kind === 'delayed-by-queue') problems.push(...notDelaying(plan.name, declared))
      break
    }
    case 'delay':
      problems.push(...otherDelay(plan, declared))
      if (!losesNothing(declared)) findings.push(lossyDelay(plan.name))
      break
    case 'dead-letter':
  }
  const limited = plan.role === 'delay' || exchange !== undefined ? undefined : limitOf(declared, version)
  if (limited !== undefined) findings.push(limitedQueue(plan, limited))
  const dropping = droppingArguments(plan, declared)
  if (dropping.length > 0) findings.push(droppingQueue(plan, dropping))
  if (!declaration.durable || declaration.autoDelete) findings.push(fleetingQueue(plan, declaration))
  return { problems, findings }
}

/** An unknown declaration is reported, not assumed to be fine. */
export function unknown({ name }: QueuePlan): Finding {
  return {
    event: 'queue-unknown',
    detail: `queue ${name}: how it was declared could not be found out, so nobody knows whether it loses messages: look at its delivery limit and its dead-letter exchange`,
  }
}

export function missing({ name }: QueuePlan): Finding {
  return {
    event: 'queue-mismatch',
    detail: `queue ${name}: does not exist: messages for it are published again and again until it does`,
  }
}

export function lossyDelay(queue: string): Finding {
  return {
    event: 'delay-queue',
    detail: `queue ${queue}: moves what is due at most once: a broker that stops in that moment loses the copy. Only a quorum queue with x-dead-letter-strategy at-least-once and x-overflow reject-publish does not`,
  }
}

function otherActive({ name }: QueuePlan, isActiveAlone: boolean): Finding {
  const consequence = isActiveAlone
    ? 'at a stop the next consumer starts with later messages while earlier ones still run here: set singleActiveConsumer: true'
    : 'several processes consume it at once, in no order between them: declare the queue with it, or leave the option out'
  return {
    event: 'single-active-consumer',
    detail: `queue ${name}: x-single-active-consumer is ${isActiveAlone} there and ${!isActiveAlone} in the options: ${consequence}`,
  }
}

function notDelaying(name: string, declared: QueueArguments): string[] {
  const type = declared['x-delayed-retry-type']
  if (declared['x-queue-type'] === 'quorum' && type === 'all') return []
  return [
    `queue ${name}: expected a quorum queue with x-delayed-retry-type 'all' for retry.delayedByQueue, got ${shown(declared['x-queue-type'])} with ${shown(type)}: what is given back would come back at once. Declare the queue so, or choose delayQueues. ${NO_POLICIES}: if one sets it, choose setup: 'off'`,
  ]
}

function otherDelay({ name, arguments: wanted }: QueuePlan, declared: QueueArguments): string[] {
  const differing = ['x-message-ttl', 'x-dead-letter-exchange', 'x-dead-letter-routing-key']
    .filter((argument) => declared[argument] !== wanted[argument])
    .map((argument) => `${argument}: expected ${shown(wanted[argument])}, got ${shown(declared[argument])}`)
  if (differing.length === 0) return []
  return [
    `queue ${name}: expected to delay what comes back to ${shown(wanted['x-dead-letter-routing-key'])}; ${differing.join('; ')}. Delete it, or name another queue in retry.delayQueues. ${NO_POLICIES}: if one sets it, choose setup: 'off'`,
  ]
}

/** True if its dead-lettering loses nothing. */
function losesNothing(declared: QueueArguments): boolean {
  const isSure = declared['x-dead-letter-strategy'] === 'at-least-once' && declared['x-overflow'] === 'reject-publish'
  return declared['x-queue-type'] === 'quorum' && isSure
}

function lossyReject({ name }: QueuePlan): Finding {
  return {
    event: 'dead-letter-strategy',
    detail: `queue ${name}: moves dead letters to its x-dead-letter-exchange at most once: a broker that stops in that moment, or an exchange that leads nowhere, loses the message. Only a quorum queue with x-dead-letter-strategy at-least-once and x-overflow reject-publish does not; or leave out deadLetter: 'reject'`,
  }
}

/**
 * Arguments with which the broker drops unhandled messages, with their values. A length limit that refuses publishes
 * drops nothing, because producers that wait for confirms notice it. The TTL of a delay queue is its purpose.
 */
export function droppingArguments({ role }: QueuePlan, declared: QueueArguments): string[] {
  const { 'x-overflow': overflow, 'x-queue-type': type } = declared
  // Quorum queues accept reject-publish-dlx but drop the oldest message.
  const refuses = overflow === 'reject-publish' || (type !== 'quorum' && overflow === 'reject-publish-dlx')
  const lengths = refuses ? [] : ['x-max-length', 'x-max-length-bytes']
  const times = role === 'delay' ? ['x-expires'] : ['x-message-ttl', 'x-expires']
  return [...lengths, ...times]
    .filter((name) => declared[name] !== undefined)
    .map((name) => `${name} ${String(declared[name])}`)
}

function droppingQueue({ name, role }: QueuePlan, dropping: readonly string[]): Finding {
  const unused =
    role === 'delay'
      ? 'with x-expires it deletes the queue and its messages, because a delay queue has no consumers'
      : 'with x-expires it deletes the queue and its messages after that time without a consumer'
  return {
    event: 'message-limits',
    detail: `queue ${name}: ${dropping.join(', ')}: the broker drops messages beyond that, or moves them to the x-dead-letter-exchange, before a consumer has handled them; ${unused}. Leave these arguments out; a length limit with x-overflow reject-publish tells producers instead. ${NO_POLICIES}`,
  }
}

function fleetingQueue({ name }: QueuePlan, { durable, autoDelete }: Declaration): Finding {
  const ends = [
    ...(durable ? [] : ['is not durable: it is gone, with all messages, when the broker restarts']),
    ...(autoDelete ? ['is auto-delete: it is gone, with all messages, when its last consumer leaves'] : []),
  ]
  return { event: 'durability', detail: `queue ${name}: ${ends.join('; ')}. Declare it durable, without auto-delete` }
}

/** How often a message may come back; `undefined` if there is no limit. */
export function limitOf(declared: QueueArguments, version: string): number | undefined {
  if (declared['x-queue-type'] !== 'quorum') return undefined
  const limit = declared['x-delivery-limit'] ?? (isAtLeast(version, 4, 0) ? 20 : undefined)
  return typeof limit === 'number' && (limit >= 0 || !isAtLeast(version, 4, 0)) ? limit : undefined
}

function limitedQueue({ name, role }: QueuePlan, limit: number): Finding {
  const counted =
    role === 'consumed'
      ? 'a stop that gives messages back counts too (not on 4.3)'
      : 'on 4.3 dead letters arrive with the count they had, and a reader that crashes once may lose them'
  return {
    event: 'delivery-limit',
    detail: `queue ${name}: no x-dead-letter-exchange, and an x-delivery-limit of ${limit}: the broker drops a message that comes back more often; ${counted}. Declare it with x-delivery-limit -1 (not before 4.0), or set that by the policy delivery-limit. ${NO_POLICIES}`,
  }
}

/** A queue declared without a type is classic. */
function typed(declared: QueueArguments): QueueArguments {
  return { 'x-queue-type': 'classic', ...declared }
}
