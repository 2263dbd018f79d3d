import { ConfigError, refusalsOf, type CheckFinding, type RedeliveryWindow } from '../../../src/internal.ts'
import type { Link } from '../connection/link.ts'
import type { FittedSettings } from '../options/fit.ts'
import {
  isDeclaredHere,
  judge,
  lossyDelay,
  missing,
  missingExchange,
  tooOldForDelays,
  undeclared,
} from './judgement.ts'
import { queuePlans, type QueueArguments, type QueuePlan } from './plans.ts'
import { adviceOn, ask, checkQueue, declarationOf, declare, isReply, problemIn, type Declaration } from './questions.ts'
import { isAtLeast } from './server-version.ts'
import { warningsIn, type Warning } from './warnings.ts'

/** What a start knows of one queue. */
interface Looked {
  readonly findings: readonly CheckFinding[]
  /** Refusals of the broker itself, in its words. */
  readonly refused?: readonly string[]
}

/** The queues that a consumer needs. They are declared or checked before each generation. */
export class Topology {
  readonly #settings: FittedSettings
  /** Results for queues that are not declared here, which are checked once. */
  readonly #judged = new Map<string, readonly CheckFinding[]>()

  #isQuorum = false
  #hasTurns = true
  #redeliveryWindow: RedeliveryWindow | undefined

  constructor(settings: FittedSettings) {
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
   * Declares or checks the queues. Returns warnings of queues that work but may lose messages.
   *
   * @throws ConfigError `CONFIG_INVALID`: missing, or broken in one of the ways that doctor finds, all queues in one
   */
  async seeTo(link: Link): Promise<readonly Warning[]> {
    const { setup } = this.#settings
    const version = link.serverVersion
    const tooOld = tooOldForDelays(this.#settings, version)
    if (tooOld !== undefined) throw refusal(refusalsOf([tooOld]))
    const problems: string[] = []
    const findings: CheckFinding[] = []
    for (const plan of queuePlans(this.#settings, version)) {
      // If the set-up cannot work anyway, do not create further queues.
      if (setup === 'auto' && problems.length > 0 && !(await exists(link, plan.name))) continue
      const looked = await this.#seeToQueue(link, plan)
      problems.push(...(looked.refused ?? []), ...refusalsOf(looked.findings))
      findings.push(...looked.findings)
    }
    const ofExchange = await this.#lookAtExchange(link)
    problems.push(...refusalsOf(ofExchange))
    if (problems.length > 0) throw refusal(problems)
    return warningsIn([...findings, ...ofExchange])
  }

  /** `false`: the queue is not declared here. */
  async declareAgain(link: Link, queue: string): Promise<boolean> {
    const { setup } = this.#settings
    const plan = queuePlans(this.#settings, link.serverVersion).find(({ name }) => name === queue)
    if (setup !== 'auto' || plan === undefined) return false
    await declare(link, queue, plan.arguments)
    return true
  }

  async #seeToQueue(link: Link, plan: QueuePlan): Promise<Looked> {
    if (isDeclaredHere(plan, this.#settings)) return this.#declare(link, plan)
    return this.#settings.setup === 'off' ? { findings: await this.#judge(link, plan) } : this.#check(link, plan)
  }

  async #declare(link: Link, plan: QueuePlan): Promise<Looked> {
    const { name, role, arguments: wanted } = plan
    try {
      await declare(link, name, wanted)
      if (role === 'consumed') this.#noteConsumed(wanted)
      const isLossy = role === 'delay' && wanted['x-queue-type'] !== 'quorum'
      return { findings: isLossy ? [lossyDelay(name, wanted)] : [] }
    } catch (error) {
      if (isReply(error, 405)) return lockedHere(link, plan)
      const declared = isReply(error, 406) ? await declarationOf(link, name) : 'unknown'
      if (typeof declared === 'string') return this.#refusal(error, plan)
      return { findings: this.#judgementOf(link, plan, declared) }
    }
  }

  async #check(link: Link, plan: QueuePlan): Promise<Looked> {
    try {
      await checkQueue(link, plan.name)
    } catch (error) {
      return this.#refusal(error, plan)
    }
    return { findings: await this.#judge(link, plan) }
  }

  async #judge(link: Link, plan: QueuePlan): Promise<readonly CheckFinding[]> {
    const known = this.#judged.get(plan.name)
    if (known !== undefined) return known
    const declared = await declarationOf(link, plan.name)
    if (declared === 'unknown' && plan.role === 'consumed') this.#hasTurns = true
    // To consume a missing queue fails, and that error says more.
    if (declared === 'missing') return plan.role === 'consumed' ? [] : [missing(plan, this.#settings)]
    const findings = declared === 'unknown' ? [undeclared(plan)] : this.#judgementOf(link, plan, declared)
    this.#judged.set(plan.name, findings)
    return findings
  }

  /** @throws the error, unless it is a refusal that only a change of queue or options can fix */
  #refusal(error: unknown, { name, role }: QueuePlan): Looked {
    const problem = problemIn(error, `queue ${name}`, adviceOn(this.#settings, role))
    if (problem === undefined) throw error
    return { findings: [], refused: [problem] }
  }

  #judgementOf(link: Link, plan: QueuePlan, declared: Declaration): readonly CheckFinding[] {
    if (plan.role === 'consumed') this.#noteConsumed(declared.arguments)
    const { maxAttempts } = this.#settings
    return judge(plan, declared, { settings: this.#settings, version: link.serverVersion, maxAttempts })
  }

  async #lookAtExchange(link: Link): Promise<readonly CheckFinding[]> {
    const { deadLetter } = this.#settings
    if (deadLetter.kind !== 'exchange') return []
    const { exchange } = deadLetter
    try {
      await ask(link, `check ${exchange}`, (channel) => channel.checkExchange(exchange))
      return []
    } catch (error) {
      // A user who may not check an exchange may still publish to it.
      if (isReply(error, 403)) return []
      if (!isReply(error, 404)) throw error
      return [missingExchange(exchange, this.#settings)]
    }
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

/** A queue locked by another connection is waited for. One locked by the lent connection itself stays locked. */
async function lockedHere(link: Link, { name }: QueuePlan): Promise<Looked> {
  await checkQueue(link, name)
  const problem = `queue ${name}: expected one that outlives its connection, got one that is exclusive to the lent connection. Declare it without exclusive, or take it as it is by setup: 'check'`
  return { findings: [], refused: [problem] }
}

function refusal(problems: readonly string[]): ConfigError {
  return new ConfigError(problems.map((problem) => `RabbitMQ: ${problem}`))
}
