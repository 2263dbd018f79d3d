import type { CheckFinding } from '../../../src/internal.ts'
import type { RabbitSettings } from '../options/resolve.ts'
import { shown } from '../options/shown.ts'
import { broken, holds, unknown, weaker, weakerByDefault } from './findings.ts'
import type { QueueArguments, QueuePlan } from './plans.ts'
import type { Declaration } from './questions.ts'
import { isAtLeast } from './server-version.ts'

/** What a queue is judged by. */
export interface Judged {
  readonly settings: RabbitSettings
  /** Such as `4.0.5`; empty if unknown. */
  readonly version: string
  /** How often the consumer tries a message. */
  readonly maxAttempts: number
}

/** Why a stream is not consumed. */
export const STREAMS_REFUSED =
  'Streams are not supported: what is published while nobody is attached would never be handled, because acks store no position. Consume a quorum or a classic queue, bound to the exchange that fills the stream'

const NO_POLICIES = 'What a policy adds cannot be seen from here'
const OR_OFF = `${NO_POLICIES}: if one sets it, choose setup: 'off'`

/** True if `setup` declares this queue. Only its owner knows the dead-letter exchange of a queue that rejects. */
export function isDeclaredHere({ role }: QueuePlan, { setup, deadLetter }: RabbitSettings): boolean {
  return setup === 'auto' && !(role === 'consumed' && deadLetter.kind === 'reject')
}

/** All findings about an existing queue. Doctor shows them; a start refuses the broken ones and warns of others. */
export function judge(plan: QueuePlan, declaration: Declaration, judged: Judged): readonly CheckFinding[] {
  const { settings } = judged
  const declared = typed(declaration.arguments)
  const findings = [
    durability(plan, declaration),
    queueType(plan, declared, declaration.arguments),
    messageLimits(plan, declared),
    ...(plan.role === 'delay' ? [] : [deliveryLimit(plan, declared, judged)]),
    ...(plan.role === 'consumed' ? ofConsumed(plan, declared, settings) : []),
    ...(plan.role === 'delay' && !losesNothing(declared) ? [lossyDelay(plan.name, declared)] : []),
  ]
  if (isDeclaredHere(plan, settings)) return [...findings, ...mismatch(plan, declaration, findings)]
  return [...findings, ...unsuitable(plan, declared, settings)]
}

/** How the queue was declared cannot be found out: that is reported, not assumed to be fine. */
export function undeclared({ name }: QueuePlan): CheckFinding {
  const meaning =
    'How it was declared could not be found out, so nobody knows whether it loses messages: look at its delivery limit and its dead-letter exchange.'
  return unknown('queue', `queue ${name}`, meaning)
}

/** With `setup: 'off'` a copy may wait for its queue; without it a start refuses. */
export function missing({ name, role }: QueuePlan, { setup }: RabbitSettings): CheckFinding {
  const found = `queue ${name}: does not exist`
  if (role === 'consumed') return broken('queue', found, "Create it, or let setup: 'auto' declare queues.")
  const meaning = 'Messages for it are published again and again until it does: create it.'
  return (setup === 'off' ? weaker : broken)('queue', found, meaning)
}

export function lossyDelay(queue: string, declared: QueueArguments): CheckFinding {
  const meaning =
    'A broker that stops in that moment loses the copy. Only a quorum queue with x-dead-letter-strategy at-least-once and x-overflow reject-publish does not.'
  return atMostOnce(declared)('delay-queue', `queue ${queue}: moves what is due at most once`, meaning)
}

/** A queue moves at most once where nobody says how. */
function atMostOnce({ 'x-dead-letter-strategy': strategy, 'x-overflow': overflow }: QueueArguments): typeof weaker {
  return strategy === undefined && overflow === undefined ? weakerByDefault : weaker
}

/** Why the queue cannot delay by itself; `undefined` if it can, or need not. */
export function tooOldForDelays({ retry }: RabbitSettings, version: string): CheckFinding | undefined {
  if (retry.kind !== 'delayed-by-queue' || isAtLeast(version, 4, 3)) return undefined
  const got = version === '' ? 'a server that does not tell its version' : `RabbitMQ ${version}`
  const found = `retry.delayedByQueue: expected RabbitMQ 4.3 or later, got ${got}`
  return broken('options', found, 'It may accept x-delayed-retry-type and delay nothing. Choose delayQueues.')
}

/** A dead-letter exchange that is missing. With `setup: 'off'` dead letters may wait for it. */
export function missingExchange(exchange: string, { setup }: RabbitSettings): CheckFinding {
  const found = `deadLetter.exchange: expected to exist, got no exchange ${exchange}`
  const meaning =
    'Dead letters are published again and again, and their originals stay unacked. Create it, or name a queue instead.'
  return (setup === 'off' ? weaker : broken)('dead-letter-exchange', found, meaning)
}

function durability({ name }: QueuePlan, { durable, autoDelete }: Declaration): CheckFinding {
  const found = `queue ${name}: durable ${durable}, auto-delete ${autoDelete}`
  if (durable && !autoDelete) return holds('durability', found)
  const ends = [
    ...(durable ? [] : ['It is gone, with all messages, when the broker restarts.']),
    ...(autoDelete ? ['It is gone, with all messages, when its last consumer leaves.'] : []),
  ]
  return broken('durability', found, `${ends.join(' ')} Declare it durable, without auto-delete.`)
}

function queueType(
  { name, role }: QueuePlan,
  { 'x-queue-type': type }: QueueArguments,
  { 'x-queue-type': chosen }: QueueArguments,
): CheckFinding {
  const found = `queue ${name}: x-queue-type ${type}`
  if (type === 'quorum') return holds('queue-type', found)
  if (type === 'stream' && role === 'dead-letter') {
    const meaning =
      'A stream deletes dead letters when its retention is over, and a redrive cannot read them. Use a quorum queue.'
    return weaker('queue-type', found, meaning)
  }
  if (type === 'stream') {
    return broken('queue-type', found, `${STREAMS_REFUSED}.`)
  }
  const meaning =
    'It has one copy, on one node: if that disk is lost, the messages are lost. Use a quorum queue on three nodes.'
  return (chosen === undefined ? weakerByDefault : weaker)('queue-type', found, meaning)
}

/**
 * Arguments with which the broker drops unhandled messages, with their values. A length limit that refuses publishes
 * drops nothing, because producers that wait for confirms notice it. The TTL of a delay queue is its purpose.
 */
function droppingArguments({ role }: QueuePlan, declared: QueueArguments): string[] {
  const { 'x-overflow': overflow, 'x-queue-type': type } = declared
  // Quorum queues accept reject-publish-dlx but drop the oldest message.
  const refuses = overflow === 'reject-publish' || (type !== 'quorum' && overflow === 'reject-publish-dlx')
  const lengths = refuses ? [] : ['x-max-length', 'x-max-length-bytes']
  const times = role === 'delay' ? ['x-expires'] : ['x-message-ttl', 'x-expires']
  return [...lengths, ...times]
    .filter((name) => declared[name] !== undefined)
    .map((name) => `${name} ${String(declared[name])}`)
}

function messageLimits(plan: QueuePlan, declared: QueueArguments): CheckFinding {
  const { name, role } = plan
  const dropping = droppingArguments(plan, declared)
  if (dropping.length === 0) return holds('message-limits', `queue ${name}: no argument that drops messages`)
  const unused =
    role === 'delay'
      ? 'With x-expires it deletes the queue and its messages, because a delay queue has no consumers'
      : 'With x-expires it deletes the queue and its messages after that time without a consumer'
  return weaker(
    'message-limits',
    `queue ${name}: ${dropping.join(', ')}`,
    `The broker drops messages beyond that, or moves them to the x-dead-letter-exchange, before a consumer has handled them. ${unused}. Leave these arguments out; a length limit with x-overflow reject-publish tells producers instead. ${NO_POLICIES}.`,
  )
}

/** How often a message may come back; `undefined` if there is no limit. */
export function limitOf(declared: QueueArguments, version: string): number | undefined {
  if (declared['x-queue-type'] !== 'quorum') return undefined
  const limit = declared['x-delivery-limit'] ?? (isAtLeast(version, 4, 0) ? 20 : undefined)
  return typeof limit === 'number' && (limit >= 0 || !isAtLeast(version, 4, 0)) ? limit : undefined
}

function deliveryLimit(
  { name, role }: QueuePlan,
  declared: QueueArguments,
  { settings, version, maxAttempts }: Judged,
): CheckFinding {
  const check = 'delivery-limit'
  const exchange = declared['x-dead-letter-exchange']
  const limit = limitOf(declared, version)
  const found = `queue ${name}: x-delivery-limit ${limit ?? 'none'}, x-dead-letter-exchange ${exchange === undefined ? 'none' : JSON.stringify(exchange)}`
  if (limit === undefined && declared['x-queue-type'] === 'quorum' && version === '') {
    return unknown(check, found, 'From RabbitMQ 4.0 the default is 20, and the server does not report its version.')
  }
  if (limit === undefined || exchange !== undefined) return holds(check, found)
  const unlimited = isAtLeast(version, 4, 0)
    ? 'Declare it with x-delivery-limit -1, or set that by the policy delivery-limit'
    : 'Declare it without x-delivery-limit, or with a higher one: before 4.0 a queue without one has no limit, and -1 is a limit'
  const advice = `${unlimited}. ${NO_POLICIES}`
  if (role === 'consumed' && limit < maxAttempts && settings.setup !== 'off') {
    const dropped = `The broker drops a message at its return number ${limit + 1}, before its ${maxAttempts} attempts are over.`
    return broken(check, found, `${dropped} ${advice}: if one mends it, choose setup: 'off'.`)
  }
  const counted =
    role === 'consumed'
      ? 'a stop that gives messages back counts too (not on 4.3)'
      : 'on 4.3 dead letters arrive with the count they had, and a reader that crashes once may lose them'
  const say = declared['x-delivery-limit'] === undefined ? weakerByDefault : weaker
  return say(check, found, `The broker drops a message that comes back more often; ${counted}. ${advice}.`)
}

function ofConsumed(plan: QueuePlan, declared: QueueArguments, settings: RabbitSettings): readonly CheckFinding[] {
  const isActiveAlone = declared['x-single-active-consumer'] === true
  const isRejecting = settings.deadLetter.kind === 'reject' && declared['x-dead-letter-exchange'] !== undefined
  return [
    ...(isActiveAlone === settings.singleActiveConsumer ? [] : [otherActive(plan, declared)]),
    ...(isRejecting && !losesNothing(declared) ? [lossyReject(plan, declared)] : []),
  ]
}

function otherActive({ name }: QueuePlan, { 'x-single-active-consumer': chosen }: QueueArguments): CheckFinding {
  const isActiveAlone = chosen === true
  const consequence = isActiveAlone
    ? 'At a stop the next consumer starts with later messages while earlier ones still run here: set singleActiveConsumer: true.'
    : 'Several processes consume it at once, in no order between them: declare the queue with it, or leave the option out.'
  const found = `queue ${name}: x-single-active-consumer is ${isActiveAlone} there and ${!isActiveAlone} in the options`
  return (chosen === undefined ? weakerByDefault : weaker)('single-active-consumer', found, consequence)
}

function lossyReject({ name }: QueuePlan, declared: QueueArguments): CheckFinding {
  const meaning =
    "A broker that stops in that moment, or an exchange that leads nowhere, loses the message. Only a quorum queue with x-dead-letter-strategy at-least-once and x-overflow reject-publish does not; or leave out deadLetter: 'reject'."
  const found = `queue ${name}: moves dead letters to its x-dead-letter-exchange at most once`
  return atMostOnce(declared)('dead-letter-strategy', found, meaning)
}

/** True if its dead-lettering loses nothing. */
function losesNothing(declared: QueueArguments): boolean {
  const isSure = declared['x-dead-letter-strategy'] === 'at-least-once' && declared['x-overflow'] === 'reject-publish'
  return declared['x-queue-type'] === 'quorum' && isSure
}

/** Arguments that the options need. A policy may set them, so with `setup: 'off'` nobody knows. */
function unsuitable(plan: QueuePlan, declared: QueueArguments, settings: RabbitSettings): readonly CheckFinding[] {
  const { name, role } = plan
  const told = settings.setup === 'off' ? unknown : broken
  if (role === 'delay') {
    const differing = otherDelay(plan, declared)
    if (differing === '') return []
    const wanted = shown(plan.arguments['x-dead-letter-routing-key'])
    const found = `queue ${name}: expected to delay what comes back to ${wanted}; ${differing}`
    return [told('options', found, `Delete it, or name another queue in retry.delayQueues. ${OR_OFF}.`)]
  }
  if (role !== 'consumed') return []
  const findings: CheckFinding[] = []
  if (settings.deadLetter.kind === 'reject' && declared['x-dead-letter-exchange'] === undefined) {
    const found = `queue ${name}: expected x-dead-letter-exchange with deadLetter: 'reject', got none`
    const meaning = `The broker would drop dead letters. Declare the queue with one, or leave deadLetter out. ${OR_OFF}.`
    findings.push(told('options', found, meaning))
  }
  const { 'x-queue-type': type, 'x-delayed-retry-type': delayed } = declared
  if (settings.retry.kind === 'delayed-by-queue' && !(type === 'quorum' && delayed === 'all')) {
    const found = `queue ${name}: expected a quorum queue with x-delayed-retry-type 'all' for retry.delayedByQueue, got ${shown(type)} with ${shown(delayed)}`
    const meaning = `What is given back would come back at once. Declare the queue so, or choose delayQueues. ${OR_OFF}.`
    findings.push(told('options', found, meaning))
  }
  return findings
}

function otherDelay({ arguments: wanted }: QueuePlan, declared: QueueArguments): string {
  return ['x-message-ttl', 'x-dead-letter-exchange', 'x-dead-letter-routing-key']
    .filter((argument) => declared[argument] !== wanted[argument])
    .map((argument) => `${argument}: expected ${shown(wanted[argument])}, got ${shown(declared[argument])}`)
    .join('; ')
}

/** `setup: 'auto'` declares a queue with these arguments, and the broker refuses others. */
function mismatch(plan: QueuePlan, declaration: Declaration, others: readonly CheckFinding[]): readonly CheckFinding[] {
  const { name, role, arguments: wanted } = plan
  const differing = differences(wanted, declaration)
  if (differing.length === 0) return []
  const { 'x-queue-type': type = 'classic' } = declaration.arguments
  const isOtherType =
    role === 'consumed' && type !== wanted['x-queue-type'] && (type === 'classic' || type === 'quorum')
  const option = isOtherType ? ` (queueType: '${type}')` : ''
  // `check` refuses what is broken too.
  const asItIs = others.some(({ verdict }) => verdict === 'broken') ? '' : ", or take it as it is by setup: 'check'"
  const found = `queue ${name}: exists, and was declared otherwise; ${differing.join('; ')}`
  return [broken('options', found, `Choose the options after the queue${option}${asItIs}, or delete it.`)]
}

/** Differences between wanted and declared arguments, except the delivery limit. */
function differences(wanted: QueueArguments, { durable, autoDelete, arguments: declared }: Declaration): string[] {
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

/** A queue declared without a type is classic. */
function typed(declared: QueueArguments): QueueArguments {
  return { 'x-queue-type': 'classic', ...declared }
}
