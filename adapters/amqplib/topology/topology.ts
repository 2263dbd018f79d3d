import { ConfigError, type RedeliveryWindow } from '../../../src/spi.ts'
import type { Link } from '../connection/link.ts'
import type { RabbitSettings } from '../options/resolve.ts'
import { differences, judge, lossyDelay, missing, unknown, type Finding, type Judgement } from './judgement.ts'
import { queuePlans, type QueueArguments, type QueuePlan } from './plans.ts'
import { adviceOn, ask, checkQueue, declarationOf, declare, isReply, problemIn, type Declaration } from './questions.ts'
import { isAtLeast } from './server-version.ts'

/** The queues that a consumer needs. They are declared or checked before each generation. */
export class Topology {
  readonly #settings: RabbitSettings
  /** Results for queues that are not declared here, which are checked once. */
  readonly #judged = new Map<string, Judgement>()

  #isQuorum = false
  #hasTurns = true
  #redeliveryWindow: RedeliveryWindow | undefined

  constructor(settings: RabbitSettings) {
    this.#settings = settings
  }

  /**
   * True if consumers of the queue wait for their turn, or if that is unknown: then a consumer with room may get no
   * messages.
   */
  get hasTurns(): boolean {
    return this.#hasTurns
  }

  /**
   * How long after a lost ack a message can be redelivered: the TTL of the queue's messages; for ever without one.
   * Arguments of a policy are not visible. `undefined`: the arguments are unknown.
   */
  get redeliveryWindow(): RedeliveryWindow | undefined {
    return this.#redeliveryWindow
  }

  /** True if the queue has messages ready, or is gone. */
  async hasReady(link: Link): Promise<boolean> {
    try {
      return (await checkQueue(link, this.#settings.queue)) > 0
    } catch (error) {
      if (isReply(error, 404)) return true
      throw error
    }
  }

  /** Consumer arguments that the server accepts. Other servers and queues refuse or ignore a timeout. */
  consumeArguments(link: Link): QueueArguments {
    const { consumerTimeoutMs } = this.#settings
    if (consumerTimeoutMs === undefined || !this.#isQuorum || !isAtLeast(link.serverVersion, 4, 3)) return {}
    return { 'x-consumer-timeout': consumerTimeoutMs }
  }

  /** Queues may have been deleted and declared anew: check them again. */
  forget(): void {
    this.#judged.clear()
  }

  /**
   * Declares or checks the queues. Returns findings of queues that work but may lose messages.
   *
   * @throws ConfigError `CONFIG_INVALID`: missing or of another kind, all queues in one
   */
  async seeTo(link: Link): Promise<readonly Finding[]> {
    const { retry, setup, deadLetter } = this.#settings
    const version = link.serverVersion
    if (retry.kind === 'delayed-by-queue' && !isAtLeast(version, 4, 3)) throw new ConfigError([tooOld(version)])
    const problems: string[] = []
    const findings: Finding[] = []
    for (const plan of queuePlans(this.#settings, version)) {
      // If the set-up cannot work anyway, do not create further queues.
      if (setup === 'auto' && problems.length > 0 && !(await exists(link, plan.name))) continue
      const judgement = await this.#seeToQueue(link, plan)
      problems.push(...judgement.problems)
      findings.push(...judgement.findings)
    }
    if (deadLetter.kind === 'exchange' && setup !== 'off') {
      problems.push(...(await missingExchange(link, deadLetter.exchange)))
    }
    if (problems.length > 0) throw new ConfigError(problems.map((problem) => `RabbitMQ: ${problem}`))
    return findings
  }

  /** `false`: the queue is not declared here. */
  async declareAgain(link: Link, queue: string): Promise<boolean> {
    const { setup } = this.#settings
    const plan = queuePlans(this.#settings, link.serverVersion).find(({ name }) => name === queue)
    if (setup !== 'auto' || plan === undefined) return false
    await declare(link, queue, plan.arguments)
    return true
  }

  async #seeToQueue(link: Link, plan: QueuePlan): Promise<Judgement> {
    const { setup, deadLetter } = this.#settings
    // Only the owner of the queue knows its dead-letter exchange.
    const isForeign = plan.role === 'consumed' && deadLetter.kind === 'reject'
    switch (isForeign && setup === 'auto' ? 'check' : setup) {
      case 'auto':
        return this.#declare(link, plan)
      case 'check':
        return this.#check(link, plan)
      case 'off':
        return asFindings(await this.#judge(link, plan))
    }
  }

  async #declare(link: Link, plan: QueuePlan): Promise<Judgement> {
    const { name, role, arguments: wanted } = plan
    try {
      await declare(link, name, wanted)
      if (role === 'consumed') this.#noteConsumed(wanted)
      const isLossy = role === 'delay' && wanted['x-queue-type'] !== 'quorum'
      return { problems: [], findings: isLossy ? [lossyDelay(name)] : [] }
    } catch (error) {
      if (isReply(error, 405)) return lockedHere(link, plan)
      const declared = isReply(error, 406) ? await declarationOf(link, name) : 'unknown'
      if (typeof declared === 'string') return this.#refusal(error, plan)
      const problems = mismatch(plan, declared)
      return problems.length > 0 ? { problems, findings: [] } : this.#judgementOf(link, plan, declared)
    }
  }

  async #check(link: Link, plan: QueuePlan): Promise<Judgement> {
    try {
      await checkQueue(link, plan.name)
    } catch (error) {
      return this.#refusal(error, plan)
    }
    return this.#judge(link, plan)
  }

  async #judge(link: Link, plan: QueuePlan): Promise<Judgement> {
    const known = this.#judged.get(plan.name)
    if (known !== undefined) return known
    const declared = await declarationOf(link, plan.name)
    if (declared === 'unknown' && plan.role === 'consumed') this.#hasTurns = true
    if (declared === 'missing') return { problems: [], findings: plan.role === 'consumed' ? [] : [missing(plan)] }
    const judgement =
      declared === 'unknown' ? { problems: [], findings: [unknown(plan)] } : this.#judgementOf(link, plan, declared)
    this.#judged.set(plan.name, judgement)
    return judgement
  }

  /** @throws the error, unless it is a refusal that only a change of queue or options can fix */
  #refusal(error: unknown, { name, role }: QueuePlan): Judgement {
    const problem = problemIn(error, `queue ${name}`, adviceOn(this.#settings, role))
    if (problem === undefined) throw error
    return { problems: [problem], findings: [] }
  }

  #judgementOf(link: Link, plan: QueuePlan, declared: Declaration): Judgement {
    if (plan.role === 'consumed') this.#noteConsumed(declared.arguments)
    return judge(plan, declared, { settings: this.#settings, version: link.serverVersion })
  }

  #noteConsumed(declared: QueueArguments): void {
    this.#isQuorum = declared['x-queue-type'] === 'quorum'
    this.#hasTurns = declared['x-single-active-consumer'] === true
    const ttlMs = declared['x-message-ttl']
    this.#redeliveryWindow = typeof ttlMs === 'number' ? ttlMs : 'for-ever'
  }
}

async function exists(link: Link, queue: string): Promise<boolean> {
  try {
    await checkQueue(link, queue)
    return true
  } catch (error) {
    if (isReply(error, 404)) return false
    throw error
  }
}

function mismatch({ name, role, arguments: wanted }: QueuePlan, declared: Declaration): string[] {
  const differing = differences(wanted, declared)
  if (differing.length === 0) return []
  const { 'x-queue-type': type = 'classic' } = declared.arguments
  const isOtherType =
    role === 'consumed' && type !== wanted['x-queue-type'] && (type === 'classic' || type === 'quorum')
  const option = isOtherType ? ` (queueType: '${type}')` : ''
  return [
    `queue ${name}: exists, and was declared otherwise; ${differing.join('; ')}. Choose the options after the queue${option}, or take it as it is by setup: 'check', or delete it`,
  ]
}

/** A queue locked by another connection is waited for. One locked by the lent connection itself stays locked. */
async function lockedHere(link: Link, { name }: QueuePlan): Promise<Judgement> {
  await checkQueue(link, name)
  const problem = `queue ${name}: expected one that outlives its connection, got one that is exclusive to the lent connection. Declare it without exclusive, or take it as it is by setup: 'check'`
  return { problems: [problem], findings: [] }
}

function asFindings({ problems, findings }: Judgement): Judgement {
  const more = problems.map((detail): Finding => ({ event: 'queue-mismatch', detail }))
  return { problems: [], findings: [...more, ...findings] }
}

async function missingExchange(link: Link, exchange: string): Promise<string[]> {
  try {
    await ask(link, `check ${exchange}`, (channel) => channel.checkExchange(exchange))
    return []
  } catch (error) {
    // A user who may not check an exchange may still publish to it.
    if (isReply(error, 403)) return []
    if (!isReply(error, 404)) throw error
    return [`deadLetter.exchange: expected to exist, got no exchange ${exchange}. Create it, or name a queue instead`]
  }
}

function tooOld(version: string): string {
  const got = version === '' ? 'a server that does not tell its version' : `RabbitMQ ${version}`
  return `RabbitMQ: retry.delayedByQueue: expected RabbitMQ 4.3 or later, got ${got}, which may accept x-delayed-retry-type and delay nothing. Choose delayQueues`
}
