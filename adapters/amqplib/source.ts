import {
  BrokerError,
  ConfigError,
  StoppedError,
  backoffMs,
  isConsumeOnceError,
  systemClock,
  systemEntropy,
  type Backoff,
  type Intake,
  type Source,
  type SourceHealth,
} from '../../src/index.ts'
import { Assembly } from './assembly.ts'
import type { ConfirmedPublisher } from './confirmed-publisher.ts'
import type { Connector } from './connector.ts'
import type { Generation, GenerationEnd } from './generation.ts'
import { reasonOf } from './link.ts'
import type { RabbitMessage } from './message.ts'
import type { RabbitSettings } from './options.ts'
import { assertMove, healthOf, type SourceState } from './source-state.ts'

const BACKOFF: Backoff = { initialMs: 100, maxMs: 10_000 }
/** A generation that lived so long is not one of a row of failures. */
const STABLE_AFTER_MS = 5_000

/** Consumes one queue and supervises what it needs for that: connection, topology, channel and consumer. */
export class RabbitSource implements Source {
  readonly system = 'rabbitmq'
  readonly group: string
  readonly #settings: RabbitSettings
  readonly #connector: Connector
  readonly #deadLetters: ConfirmedPublisher
  readonly #assembly: Assembly
  #state: SourceState = { phase: 'idle' }
  #intake: Intake | undefined
  #isPaused = false
  #stopping: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(connector: Connector, settings: RabbitSettings, deadLetters: ConfirmedPublisher) {
    this.#connector = connector
    this.#deadLetters = deadLetters
    this.#settings = settings
    this.group = settings.queue
    this.#assembly = new Assembly(connector, settings, {
      deliver: (deliveries) => this.#intake?.deliver(deliveries),
      laneOf: (message) => this.#laneOf(message),
      onSettled: (count) => this.#intake?.report({ type: 'settles', count }),
      onEnd: (generation, end) => this.#generationEnded(generation, end),
      onWarning: (warning) => this.#report('delivery-limit', warning),
    })
  }

  async open(intake: Intake): Promise<void> {
    this.#intake = intake
    const building: SourceState = { phase: 'building', attempt: 1, why: undefined }
    this.#become(building)
    try {
      await this.#build(building)
    } catch (error) {
      await this.#assembly.drop()
      if (this.#state === building) this.#become({ phase: 'closed' })
      throw isConsumeOnceError(error) ? error : unreachable(this.#connector, error)
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

  stopIntake(): Promise<void> {
    this.#stopping ??= this.#drain()
    return this.#stopping
  }

  close(): Promise<void> {
    this.#closing ??= this.#leave()
    return this.#closing
  }

  health(): SourceHealth {
    return healthOf(this.#state, this.#isPaused)
  }

  /** The only place that writes the state. */
  #become(next: SourceState): void {
    assertMove(this.#state, next)
    this.#state = next
  }

  async #build(building: Extract<SourceState, { phase: 'building' }>): Promise<void> {
    const goOn = (): void => {
      if (this.#state !== building)
        throw new StoppedError(`the consumer of ${this.group} was stopped while it was starting`)
    }
    const generation = await this.#assembly.make(goOn, () => this.#isPaused)
    this.#become({ phase: 'consuming', attempt: building.attempt, generation, since: systemClock.monotonic() })
    const version = this.#assembly.serverVersion || 'of unknown version'
    const event = generation.number === 1 ? 'consuming' : 'rebuilt'
    this.#report(event, `generation ${generation.number}, RabbitMQ ${version}`)
  }

  #rebuild(attempt: number, why: string): void {
    const building: SourceState = { phase: 'building', attempt, why }
    this.#become(building)
    this.#build(building).catch(async (error: unknown) => {
      // After "no" to a question the connection is good; after silence, or on a closed one, it is not.
      if (!(error instanceof ConfigError)) await this.#assembly.drop()
      if (this.#state !== building) return
      this.#report('set-up-failed', `attempt ${attempt}: ${reasonOf(error)}`)
      this.#backOff(attempt + 1, reasonOf(error))
    })
  }

  #backOff(attempt: number, why: string): void {
    const delayMs = backoffMs(attempt, BACKOFF, systemEntropy.fraction())
    const cancel = systemClock.after(delayMs, () => this.#rebuild(attempt, why))
    this.#become({ phase: 'backing-off', attempt, why, cancel })
  }

  /** Handlers that run may end in their own time: the next generation does not wait for them. */
  #generationEnded(generation: Generation, end: GenerationEnd): void {
    const state = this.#state
    if (!('generation' in state) || state.generation !== generation) return
    const lost = this.#assembly.lostBecause
    const why = lost ?? end.detail
    this.#report(lost === undefined ? end.event : 'connection-lost', why)
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
    await generation?.stopIntake()
  }

  async #leave(): Promise<void> {
    await this.stopIntake()
    const state = this.#state
    if (state.phase !== 'draining') return
    this.#become({ phase: 'closed' })
    const leaving = async (): Promise<void> => {
      await state.generation?.close()
      await this.#assembly.drop()
    }
    await Promise.all([leaving(), this.#deadLetters.close()])
  }

  #laneOf(message: RabbitMessage): string | undefined {
    try {
      return this.#settings.lane?.(message)
    } catch (error) {
      this.#report('lane-failed', `${message.position}: ${reasonOf(error)}`)
      return undefined
    }
  }

  #report(event: string, detail: string): void {
    this.#intake?.report({ type: 'source', event, detail })
  }
}

function unreachable({ where }: Connector, cause: unknown): BrokerError {
  const advice = 'Check that it runs, the address, and that the user may log in to that virtual host'
  return new BrokerError('BROKER_UNREACHABLE', `RabbitMQ at ${where} cannot be used: ${reasonOf(cause)}. ${advice}`, {
    cause,
  })
}
