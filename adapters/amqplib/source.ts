import {
  BrokerError,
  ConfigError,
  StoppedError,
  backoffMs,
  hasCode,
  isConsumeOnceError,
  systemClock,
  systemEntropy,
  type Backlog,
  type Backoff,
  type DurationMs,
  type Intake,
  type RedeliveryWindow,
  type Source,
  type SourceHealth,
} from '../../src/internal.ts'
import { Assembly } from './consuming/assembly.ts'
import { StallWatch } from './consuming/stall-watch.ts'
import { Watches } from './consuming/watches.ts'
import type { DelayedCopies } from './copies/delayed.ts'
import type { Connector } from './connection/connector.ts'
import type { Generation, GenerationEnd } from './consuming/generation.ts'
import { reasonOf } from './connection/advice.ts'
import { laneFrom } from './message/lane.ts'
import type { RabbitEvents } from './report.ts'
import { fitToCapacity, type FittedSettings } from './options/fit.ts'
import type { RabbitSettings } from './options/resolve.ts'
import { isInUse } from './topology/questions.ts'
import { assertMove, healthOf, type SourceState } from './consuming/source-state.ts'

const BACKOFF: Backoff = { initialMs: 100, maxMs: 10_000 }
/** How long the first start tries again while the broker answers. */
const START_WITHIN_MS = 30_000
/** A generation that lived this long ends a series of failures. */
const STABLE_AFTER_MS = 5_000

interface SourceParts {
  readonly connector: Connector
  readonly settings: RabbitSettings
  readonly delayed: DelayedCopies
  readonly events: RabbitEvents
  /** Closes resources of the source that outlive its consumer. */
  readonly afterClose: () => Promise<void>
  /** @defaultValue 15000 */
  readonly lookForStallEveryMs?: DurationMs
}

/** Consumes one queue and supervises everything it needs: connection, topology, channel and consumer. */
export class RabbitSource implements Source {
  readonly system = 'rabbitmq'
  readonly group: string
  readonly leaveAfterMs: DurationMs | 'never'
  readonly #parts: SourceParts
  #assembly: Assembly | undefined
  #watches: Watches | undefined
  #stallWatch: StallWatch | undefined
  #state: SourceState = { phase: 'idle' }
  #intake: Intake | undefined
  #isPaused = false
  #stopping: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(parts: SourceParts) {
    this.#parts = parts
    this.group = parts.settings.queue
    this.leaveAfterMs = parts.settings.leaveAfterMs
  }

  async open(intake: Intake): Promise<void> {
    this.#intake = intake
    this.#parts.events.begin(intake)
    const { settings, connector } = this.#parts
    try {
      const { settings: fitted, warning } = fitToCapacity(settings, intake.capacity)
      if (warning !== undefined) this.#parts.events.report('consumer-timeout', warning)
      const assembly = this.#assemblyOf(fitted, intake)
      this.#assembly = assembly
      await this.#buildFirst(assembly)
      this.#watches = this.#watchOver(assembly)
      this.#stallWatch = this.#watchForStalls(assembly)
    } catch (error) {
      await this.#assembly?.drop()
      if (this.#state.phase === 'idle' || this.#state.phase === 'building') this.#become({ phase: 'closed' })
      throw isConsumeOnceError(error) ? error : unreachable(connector, error)
    }
  }

  pause(): void {
    this.#isPaused = true
    if (this.#state.phase === 'consuming') this.#state.generation.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (this.#state.phase === 'consuming') this.#state.generation.resume()
  }

  leave(why: string): void {
    const state = this.#state
    if (state.phase !== 'building' && state.phase !== 'consuming' && state.phase !== 'backing-off') return
    if (state.phase === 'backing-off') state.cancel()
    const left = state.phase === 'consuming' ? state.generation.leave() : Promise.resolve()
    this.#become({ phase: 'away', why, left })
    this.#parts.events.report('stepped-aside', why)
    void left.then(() => this.#intake?.standingChanged())
  }

  comeBack(): void {
    if (this.#state.phase === 'away') this.#backOff(1, 'the store answers again')
  }

  stopIntake(): Promise<void> {
    this.#stopping ??= this.#drain()
    return this.#stopping
  }

  close(): Promise<void> {
    this.#closing ??= this.#leave()
    return this.#closing
  }

  health(): SourceHealth {
    const { delayed, events } = this.#parts
    const ages = [...delayed.overdueMs(systemClock.now())].map(([queue, ms]) => [`delayed-overdue-ms ${queue}`, ms])
    return {
      ...healthOf(this.#state, this.#isPaused),
      counts: { ...events.counts, ...(Object.fromEntries(ages) as Record<string, number>) },
    }
  }

  async backlog(): Promise<readonly Backlog[]> {
    if (this.#assembly === undefined) throw new Error('no connection')
    return [{ destination: this.group, messages: await this.#assembly.ready() }]
  }

  async redeliveryWindowMs(): Promise<RedeliveryWindow | undefined> {
    return this.#assembly?.redeliveryWindow
  }

  /** For a copy whose queue was deleted. `false`: not possible now, or the queue is not ours to declare. */
  async declareAgain(queue: string): Promise<boolean> {
    return (await this.#assembly?.declareAgain(queue)) ?? false
  }

  /** The only place that writes the state. */
  #become(next: SourceState): void {
    assertMove(this.#state, next)
    this.#state = next
  }

  #assemblyOf(fitted: FittedSettings, intake: Intake): Assembly {
    const { connector, settings, delayed, events } = this.#parts
    return new Assembly(connector, fitted, {
      deliver: (deliveries) => intake.deliver(deliveries),
      laneOf: (message) => laneFrom(settings.lane, message, events),
      onArrival: delayed.isUsed ? (message) => delayed.arrived(message) : () => {},
      onStale: () => events.count('settle-stale'),
      onHandedBack: () => events.count('handed-back'),
      onSettled: (count) => events.tell({ type: 'settles', count }),
      onBroken: (error) => events.tell({ type: 'invariant-broken', error }),
      onEnd: (generation, end) => this.#generationEnded(generation, end),
      onWarning: ({ event, detail }) => this.#parts.events.report(event, detail),
      onDeclaredAgain: (queue) => this.#parts.events.report('queue-declared-again', `queue ${queue} had vanished`),
    })
  }

  #watchOver(assembly: Assembly): Watches {
    const { settings, delayed } = this.#parts
    const overdueAfterMs = settings.retry.kind === 'delay-queues' ? settings.retry.overdueAfterMs : 0
    return new Watches({
      delayed,
      overdueAfterMs,
      hasRivals: () => assembly.hasRivals(),
      heartbeat: () => assembly.heartbeat,
      report: (event, detail) => this.#parts.events.report(event, detail),
    })
  }

  #watchForStalls(assembly: Assembly): StallWatch {
    const consuming = (): Generation | undefined =>
      this.#state.phase === 'consuming' && !this.#isPaused && !assembly.hasTurns ? this.#state.generation : undefined
    const detail = `queue ${this.group} holds messages, or is gone, and the broker delivers nothing here: the queue may have been deleted and declared again`
    return new StallWatch(
      {
        quietAfter: () => consuming()?.quietAfter,
        hasReady: () => assembly.hasReady(),
        onStalled: () => void consuming()?.endConsumer({ event: 'consumer-stalled', detail }),
      },
      this.#parts.lookForStallEveryMs,
    )
  }

  /**
   * Waits for a queue that another connection uses exclusively, even if the broker goes away meanwhile. Tries again for a
   * while if its own connection is lost after the broker answered on it: a node dies, or its queues move. Any other failure
   * at the start is thrown to the caller.
   */
  async #buildFirst(assembly: Assembly): Promise<void> {
    const deadline = systemClock.monotonic() + START_WITHIN_MS
    let isQueueTaken = false
    let why: string | undefined
    for (let attempt = 1; ; attempt++) {
      const building: SourceState = { phase: 'building', attempt, why }
      this.#become(building)
      try {
        return await this.#build(building, assembly)
      } catch (error) {
        isQueueTaken ||= isInUse(error)
        const wasAnswered = assembly.hasOwnLink && systemClock.monotonic() < deadline
        const isWaiting = isInUse(error) || ((isQueueTaken || wasAnswered) && isPassing(error))
        if (!isWaiting || this.#state !== building) throw error
        if (!isInUse(error)) await assembly.drop()
        why = reasonOf(error)
        this.#parts.events.report('set-up-failed', `attempt ${attempt}: ${why}`)
        if (this.#state !== building) throw stoppedWhileStarting(this.group)
        await this.#waitBefore(attempt + 1, why)
      }
    }
  }

  /** Rejects if a stop comes first. */
  #waitBefore(attempt: number, why: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const delayMs = backoffMs(attempt, BACKOFF, systemEntropy.fraction())
      const cancelTimer = systemClock.after(delayMs, resolve)
      const cancel = (): void => {
        cancelTimer()
        reject(stoppedWhileStarting(this.group))
      }
      this.#become({ phase: 'backing-off', attempt, why, cancel })
    })
  }

  async #build(building: Extract<SourceState, { phase: 'building' }>, assembly: Assembly): Promise<void> {
    const goOn = (): void => {
      if (this.#state !== building) throw stoppedWhileStarting(this.group)
    }
    const generation = await assembly.make(goOn, () => this.#isPaused)
    this.#become({ phase: 'consuming', attempt: building.attempt, generation, since: systemClock.monotonic() })
    const version = assembly.serverVersion || 'of unknown version'
    const event = generation.number === 1 ? 'consuming' : 'rebuilt'
    this.#parts.events.report(event, `generation ${generation.number}, RabbitMQ ${version}`)
  }

  #rebuild(attempt: number, why: string, assembly: Assembly): void {
    const building: SourceState = { phase: 'building', attempt, why }
    this.#become(building)
    this.#build(building, assembly).catch(async (error: unknown) => {
      // After a refusal the connection is good; after no answer, or on a closed connection, it is not.
      if (!(error instanceof ConfigError) && !isInUse(error)) await assembly.drop()
      if (this.#state !== building) return
      this.#parts.events.report('set-up-failed', `attempt ${attempt}: ${reasonOf(error)}`)
      this.#backOff(attempt + 1, reasonOf(error))
    })
  }

  #backOff(attempt: number, why: string): void {
    const assembly = this.#assembly
    if (assembly === undefined) return
    const delayMs = backoffMs(attempt, BACKOFF, systemEntropy.fraction())
    const cancel = systemClock.after(delayMs, () => this.#rebuild(attempt, why, assembly))
    this.#become({ phase: 'backing-off', attempt, why, cancel })
  }

  /** Running handlers may finish in their own time: the next generation does not wait for them. */
  #generationEnded(generation: Generation, end: GenerationEnd): void {
    const state = this.#state
    if (!('generation' in state) || state.generation !== generation) return
    const lost = this.#assembly?.lostBecause
    if (end.event !== 'channel-closed') this.#assembly?.forgetTopology()
    const why = lost ?? end.detail
    this.#parts.events.report(lost === undefined ? end.event : 'connection-lost', why)
    if (state.phase === 'draining') {
      this.#become({ phase: 'draining', generation: undefined })
    } else {
      const wasStable = systemClock.monotonic() - state.since >= STABLE_AFTER_MS
      this.#backOff(wasStable ? 1 : state.attempt + 1, why)
    }
    this.#intake?.standingChanged()
  }

  async #drain(): Promise<void> {
    const state = this.#state
    if (state.phase === 'draining' || state.phase === 'closed') return
    const generation = state.phase === 'consuming' ? state.generation : undefined
    if (state.phase === 'backing-off') state.cancel()
    this.#become({ phase: 'draining', generation })
    if (state.phase === 'away') await state.left
    await generation?.stopIntake()
  }

  async #leave(): Promise<void> {
    await this.stopIntake()
    this.#watches?.stop()
    this.#stallWatch?.stop()
    // Also after a failed start: earlier deliveries may have been dead-lettered.
    await Promise.all([this.#closeConsumer(), this.#parts.afterClose()])
  }

  async #closeConsumer(): Promise<void> {
    const state = this.#state
    if (state.phase !== 'draining') return
    this.#become({ phase: 'closed' })
    await state.generation?.close()
    await this.#assembly?.drop()
  }
}

function stoppedWhileStarting(queue: string): StoppedError {
  return new StoppedError(`the consumer of ${queue} was stopped while it was starting`)
}

/** Anything but a mistake in the options, queues or address. */
function isPassing(error: unknown): boolean {
  return !isConsumeOnceError(error) || hasCode(error, 'BROKER_UNREACHABLE')
}

function unreachable({ where }: Connector, cause: unknown): BrokerError {
  return new BrokerError('BROKER_UNREACHABLE', `RabbitMQ at ${where} cannot be used: ${reasonOf(cause)}`, { cause })
}
