import {
  ConfigError,
  durationText,
  type CheckedConsumer,
  type CheckFinding,
  type Subscription,
} from '../../../src/internal.ts'
import { connectorOf, type Connector, type RabbitConnect } from '../connection/connector.ts'
import { Link } from '../connection/link.ts'
import type { RabbitOptions } from '../options/options.ts'
import { resolveRabbitOptions, type RabbitSettings } from '../options/resolve.ts'
import { rabbitReplay } from '../replay/places.ts'
import { broken, holds, unknown, weaker } from '../topology/findings.ts'
import { isDeclaredHere, judge, missing, missingExchange, tooOldForDelays, undeclared } from '../topology/judgement.ts'
import { queuePlans, type QueuePlan } from '../topology/plans.ts'
import { ask, checkQueue, declarationOf, isReply } from '../topology/questions.ts'
import { consumerTimeout } from './consumer-timeout.ts'

/**
 * The queue of a consumer, for `adminOf`, `doctor` and the config of the command-line tool. Pass the same arguments as
 * to `runRabbit`. Nothing is opened in advance; each check opens a connection and closes it. It finds out how a queue
 * was declared as `setup: 'check'` does: by declaring it differently, which changes nothing.
 *
 * @throws ConfigError `CONFIG_INVALID`, as `runRabbit` does
 */
export function rabbitSubscription(connect: RabbitConnect, options: RabbitOptions): Subscription {
  const settings = resolveRabbitOptions(options, 'rabbitSubscription')
  const connector = connectorOf(connect)
  const { queue } = settings
  return {
    group: queue,
    origins: [queue],
    checkup: (consumer) => look(connector, settings, consumer),
    replay: rabbitReplay(connector, settings),
  }
}

async function look(
  connector: Connector,
  settings: RabbitSettings,
  consumer: CheckedConsumer,
): Promise<readonly CheckFinding[]> {
  let link: Link
  try {
    link = await Link.open(connector, `consume-once ${settings.queue}, checkup`)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map((problem) => broken('connection', problem, 'No consumer starts here.'))
  }
  try {
    const tooOld = tooOldForDelays(settings, link.serverVersion)
    const findings = [ofVersion(link.serverVersion), ...(tooOld === undefined ? [] : [tooOld])]
    for (const plan of queuePlans(settings, link.serverVersion)) {
      findings.push(...(await ofQueue(link, plan, { settings, consumer })))
    }
    return [
      ...findings,
      ...(await ofExchange(link, settings)),
      ...ofDelays(settings, consumer),
      policies(settings.queue),
    ]
  } finally {
    await link.close()
  }
}

function ofVersion(version: string): CheckFinding {
  if (version !== '') return holds('version', `RabbitMQ ${version}`)
  const meaning = 'Delivery limits and time-outs depend on it: look by hand.'
  return unknown('version', 'the server does not tell its version', meaning)
}

async function ofQueue(
  link: Link,
  plan: QueuePlan,
  { settings, consumer }: { readonly settings: RabbitSettings; readonly consumer: CheckedConsumer },
): Promise<readonly CheckFinding[]> {
  const refusal = await refusalOf(link, plan, settings)
  if (refusal !== undefined) return [refusal]
  const declared = await declarationOf(link, plan.name)
  const version = link.serverVersion
  if (declared === 'missing') return [missing(plan, settings)]
  if (declared === 'unknown') return [undeclared(plan)]
  const findings = judge(plan, declared, { settings, version, maxAttempts: consumer.maxAttempts })
  return plan.role === 'consumed'
    ? [...findings, consumerTimeout(settings, declared.arguments, { version, consumer })]
    : findings
}

/** Why a queue cannot be checked; `undefined` if it can. */
async function refusalOf(link: Link, plan: QueuePlan, settings: RabbitSettings): Promise<CheckFinding | undefined> {
  const found = (what: string): string => `queue ${plan.name}: ${what}`
  try {
    await checkQueue(link, plan.name)
    return undefined
  } catch (error) {
    if (isReply(error, 404)) return notThere(plan, settings)
    if (isReply(error, 405)) {
      const meaning =
        'It is gone, with all messages, when the connection that declared it closes. Declare it without exclusive.'
      return broken('queue-in-use', found('exclusive to another connection'), meaning)
    }
    if (isReply(error, 403)) {
      const meaning = 'It may not be looked at: allow `configure` on it to this user, or look by hand.'
      return unknown('queue', found('access refused'), meaning)
    }
    throw error
  }
}

function notThere(plan: QueuePlan, settings: RabbitSettings): CheckFinding {
  if (!isDeclaredHere(plan, settings)) return missing(plan, settings)
  const found = `queue ${plan.name}: does not exist yet`
  if (plan.role !== 'consumed') return holds('queue', `${found}; it is declared at the start`)
  const meaning = 'The consumer declares it at its first start; messages sent before that are lost. Check again then.'
  return unknown('queue', found, meaning)
}

async function ofExchange(link: Link, settings: RabbitSettings): Promise<readonly CheckFinding[]> {
  const { deadLetter } = settings
  if (deadLetter.kind !== 'exchange') return []
  const check = 'dead-letter-exchange'
  const { exchange } = deadLetter
  try {
    await ask(link, `check ${exchange}`, (channel) => channel.checkExchange(exchange))
    const meaning = 'The broker does not show clients whether each dead letter reaches a queue: check its bindings.'
    return [unknown(check, `exchange ${exchange}: exists`, meaning)]
  } catch (error) {
    if (isReply(error, 403)) {
      return [unknown(check, `exchange ${exchange}: access refused`, 'It may not be looked at: look by hand.')]
    }
    if (!isReply(error, 404)) throw error
    return [missingExchange(exchange, settings)]
  }
}

/** The store must remember a message for longer than it waits. */
function ofDelays({ retry }: RabbitSettings, { retentionMs }: CheckedConsumer): readonly CheckFinding[] {
  if (retry.kind === 'lane') return []
  const longest =
    retry.kind === 'delayed-by-queue' ? retry.maxMs : Math.max(...retry.queues.map(({ delayMs }) => delayMs))
  const found = `longest delay ${durationText(longest)}, records are kept for ${durationText(retentionMs)}`
  if (longest < retentionMs) return [holds('delays', found)]
  const meaning =
    'The store forgets a message while it waits, and counts its attempts from 1 again. Raise retentionMs of the consumer.'
  return [weaker('delays', found, meaning)]
}

function policies(queue: string): CheckFinding {
  return unknown(
    'policies',
    `queue ${queue}: policies and replicas are not told by AMQP`,
    'A policy may drop messages (max-length, message-ttl, expires) or set a delivery limit, and a quorum queue of one node has one copy: look with `rabbitmqctl list_queues name policy type members arguments`.',
  )
}
