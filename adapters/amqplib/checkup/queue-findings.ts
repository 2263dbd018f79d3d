import type { CheckedConsumer, CheckFinding } from '../../../src/spi.ts'
import type { RabbitSettings } from '../options/resolve.ts'
import { droppingArguments, judge, limitOf, type Finding } from '../topology/judgement.ts'
import type { QueueArguments, QueuePlan } from '../topology/plans.ts'
import type { Declaration } from '../topology/questions.ts'

interface Server {
  readonly settings: RabbitSettings
  readonly version: string
  readonly consumer: CheckedConsumer
}

type Found = Omit<CheckFinding, 'check'>

const holds = (found: string): Found => ({ verdict: 'holds', found, meaning: '' })
const weaker = (found: string, meaning: string): Found => ({ verdict: 'weaker', found, meaning })
const broken = (found: string, meaning: string): Found => ({ verdict: 'broken', found, meaning })

/** Events that have a finding of their own here, which is reported even if all is well. */
const LOOKED_AT: ReadonlySet<Finding['event']> = new Set(['delivery-limit', 'message-limits', 'durability'])

/** Checks the arguments of an existing queue. */
export function findingsOfQueue(plan: QueuePlan, declared: Declaration, server: Server): CheckFinding[] {
  const { settings, version } = server
  const given = declared.arguments
  const { problems, findings } = judge(plan, declared, { settings, version })
  const told = findings.filter(({ event }) => !LOOKED_AT.has(event))
  return [
    { check: 'rabbitmq.durability', ...durability(plan, declared) },
    { check: 'rabbitmq.queue-type', ...queueType(plan, given) },
    { check: 'rabbitmq.message-limits', ...messageLimits(plan, given) },
    ...(plan.role === 'delay' ? [] : [{ check: 'rabbitmq.delivery-limit', ...deliveryLimit(plan, given, server) }]),
    ...problems.map((problem) => ({ check: 'rabbitmq.options', verdict: 'broken' as const, ...split(plan, problem) })),
    ...told.map((finding) => ({ check: `rabbitmq.${finding.event}`, ...asFound(plan, finding) })),
  ]
}

/** Turns a warning of the start into a finding. */
export function asFound(plan: QueuePlan, { event, detail }: Finding): Found {
  const verdict = event === 'queue-unknown' ? 'unknown' : event === 'queue-mismatch' ? 'broken' : 'weaker'
  return { verdict, ...split(plan, detail) }
}

function split({ name }: QueuePlan, text: string): Pick<Found, 'found' | 'meaning'> {
  const found = `queue ${name}`
  return { found, meaning: `${text.startsWith(`${found}: `) ? text.slice(found.length + 2) : text}.` }
}

function durability({ name }: QueuePlan, { durable, autoDelete }: Declaration): Found {
  const found = `queue ${name}: durable ${durable}, auto-delete ${autoDelete}`
  if (!durable) {
    return broken(found, 'It is gone, with all messages, when the broker restarts. Declare it durable.')
  }
  if (!autoDelete) return holds(found)
  return broken(found, 'It is gone, with all messages, when its last consumer leaves. Declare it without auto-delete.')
}

function queueType({ name }: QueuePlan, { 'x-queue-type': type = 'classic' }: QueueArguments): Found {
  const found = `queue ${name}: x-queue-type ${type}`
  if (type === 'quorum') return holds(found)
  if (type === 'stream') {
    return broken(found, 'Streams are not supported. Consume a quorum or a classic queue.')
  }
  return weaker(
    found,
    'It has one copy, on one node: if that disk is lost, the messages are lost. Use a quorum queue on three nodes.',
  )
}

function messageLimits(plan: QueuePlan, given: QueueArguments): Found {
  const dropping = droppingArguments(plan, given)
  if (dropping.length === 0) return holds(`queue ${plan.name}: no argument that drops messages`)
  return weaker(
    `queue ${plan.name}: ${dropping.join(', ')}`,
    'The broker drops messages beyond that, or moves them to the dead-letter exchange, unhandled. Leave it out; x-overflow reject-publish refuses producers instead.',
  )
}

function deliveryLimit(plan: QueuePlan, given: QueueArguments, { version, consumer }: Server): Found {
  const { name } = plan
  const exchange = given['x-dead-letter-exchange']
  const isQuorum = given['x-queue-type'] === 'quorum'
  const limit = limitOf(given, version)
  const found = `queue ${name}: delivery limit ${limit ?? 'none'}, x-dead-letter-exchange ${exchange === undefined ? 'none' : JSON.stringify(exchange)}`
  if (limit === undefined && isQuorum && version === '') {
    return {
      verdict: 'unknown',
      found,
      meaning: 'From RabbitMQ 4.0 the default is 20, and the server does not report its version.',
    }
  }
  if (limit === undefined || exchange !== undefined) return holds(found)
  const advice = 'Declare it with x-delivery-limit -1 (from 4.0), or set that by the policy delivery-limit.'
  if (plan.role === 'consumed' && limit < consumer.maxAttempts) {
    return broken(
      found,
      `A message is dropped at its return number ${limit + 1}, before its ${consumer.maxAttempts} attempts are over. ${advice}`,
    )
  }
  return weaker(found, `The broker drops a message that comes back more often. ${advice}`)
}
