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
import type { ConfirmedPublisher } from './confirmed-publisher.ts'
import type { Connector } from './connector.ts'
import { Generation, type GenerationEnd } from './generation.ts'
import { Link, reasonOf } from './link.ts'
import type { RabbitMessage } from './message.ts'
import type { RabbitSettings } from './options.ts'
import { assertMove, type SourceState } from './source-state.ts'
import { asConfigError, seeToTopology } from './topology.ts'

const BACKOFF: Backoff = { initialMs: 100, maxMs: 10_000 }
/** A generation that lived so long was none of a row of failures. */
const STABLE_AFTER_MS = 5_000

/** Consumes one queue and supervises what it needs for that: connection, topology, channel and consumer. */
export class RabbitSource implements Source {
  readonly system = 'rabbitmq'
  readonly group: string
  readonly #settings: RabbitSettings
  readonly #connector: Connector
  readonly #deadLetters: ConfirmedPublisher
  #state: SourceState = { phase: 'idle' }
  #intake: Intake | undefined
  #link: Link | undefined
  #generations = 0
  #isPaused = false
  #warned: string | undefined
  #stopping: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(connector: Connector, settings: RabbitSettings, deadLetters: ConfirmedPublisher) {
    this.#connector = connector
    this.#deadLetters = deadLetters
    this.#settings = settings
    this.group = settings.queue
  }

  async open(intake: Intake): Promise<void> {
    this.#intake = intake
    const building: SourceState = { phase: 'building', attempt: 1, why: undefined }
    this.#become(building)
    try {
      await this.#build(building)
    } catch (error) {
      await this.#dropLink()
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
    const state = this.#state
    switch (state.phase) {
      case 'idle':
        return { ready: false, detail: 'not started' }
      case 'building':
      case 'backing-off':
        return state.why === undefined
          ? { ready: false, detail: 'connecting' }
          : { ready: false, detail: `reconnecting, attempt ${state.attempt}: ${state.why}` }
      case 'consuming':
        return { ready: !this.#isPaused, detail: this.#isPaused ? 'paused' : 'consuming' }
      case 'draining':
        return { ready: false, detail: 'draining' }
      case 'closed':
        return { ready: false, detail: 'closed' }
    }
  }

  /** The only place that writes the state. */
  #become(next: SourceState): void {
    assertMove(this.#state, next)
    this.#state = next
  }

  /** One attempt at everything that consuming needs. A stop in between ends it with `StoppedError`. */
  async #build(building: Extract<SourceState, { phase: 'building' }>): Promise<void> {
    const { queue } = this.#settings
    const link = await this.#usableLink()
    await this.#goOn(building)
    const warning = await seeToTopology(link, this.#settings)
    if (warning !== undefined && warning !== this.#warned) this.#report('delivery-limit', warning)
    this.#warned = warning
    await this.#goOn(building)

    const generation = await Generation.open(++this.#generations, link.connection, {
      settings: this.#settings,
      isPaused: this.#isPaused,
      hooks: {
        deliver: (deliveries) => this.#intake?.deliver(deliveries),
        laneOf: (message) => this.#laneOf(message),
        onSettled: (count) => this.#intake?.report({ type: 'settles', count }),
        onEnd: (ended, end) => this.#generationEnded(ended, end),
      },
    }).catch((error: unknown) => {
      throw asConfigError(error, queue)
    })
    await this.#goOn(building, generation)
    if (!generation.isLive) throw new Error(link.lostBecause ?? 'the channel closed at once')
    // Paused or resumed while the channel was opened.
    if (this.#isPaused) generation.pause()
    else generation.resume()
    this.#become({ phase: 'consuming', attempt: building.attempt, generation, since: systemClock.monotonic() })
    this.#report(
      generation.number === 1 ? 'consuming' : 'rebuilt',
      `generation ${generation.number}, RabbitMQ ${link.serverVersion || 'of unknown version'}`,
    )
  }

  async #goOn(building: SourceState, generation?: Generation): Promise<void> {
    if (this.#state === building) return
    await generation?.close()
    await this.#dropLink()
    throw new StoppedError(`the consumer of ${this.#settings.queue} was stopped while it was starting`)
  }

  async #usableLink(): Promise<Link> {
    if (this.#link?.lostBecause !== undefined) await this.#dropLink()
    this.#link ??= await Link.open(this.#connector, `consume-once ${this.#settings.queue}`)
    return this.#link
  }

  async #dropLink(): Promise<void> {
    const link = this.#link
    this.#link = undefined
    await link?.close()
  }

  #rebuild(attempt: number, why: string): void {
    const building: SourceState = { phase: 'building', attempt, why }
    this.#become(building)
    this.#build(building).catch(async (error: unknown) => {
      // After "no" to a question the connection is good; after silence, or on a closed one, it is not.
      if (!(error instanceof ConfigError)) await this.#dropLink()
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

  /** Those that run may end in their own time: the next generation does not wait for them. */
  #generationEnded(generation: Generation, end: GenerationEnd): void {
    const state = this.#state
    if (!('generation' in state) || state.generation !== generation) return
    const lost = this.#link?.lostBecause
    const event = lost === undefined ? end.event : 'connection-lost'
    const why = lost ?? end.detail
    this.#report(event, why)
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
    switch (state.phase) {
      case 'idle':
      case 'building':
        this.#become({ phase: 'draining', generation: undefined })
        return
      case 'backing-off':
        state.cancel()
        this.#become({ phase: 'draining', generation: undefined })
        return
      case 'consuming':
        this.#become({ phase: 'draining', generation: state.generation })
        await state.generation.stopIntake()
        return
      case 'draining':
      case 'closed':
    }
  }

  async #leave(): Promise<void> {
    await this.stopIntake()
    const state = this.#state
    if (state.phase !== 'draining') return
    this.#become({ phase: 'closed' })
    const leaving = async (): Promise<void> => {
      await state.generation?.close()
      await this.#dropLink()
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
