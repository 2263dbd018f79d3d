import { setTimeout as sleep } from 'node:timers/promises'
import type { DeadLetter, Delivery, Intake, RetryCopy } from '../../src/internal.ts'
import { deadLetterTopic, Epoch, LogSource, textOf } from '../../examples/source.ts'
import type { Assignment, LogRecord } from '../../examples/support/log.ts'

export type SourceClass = new (...args: ConstructorParameters<typeof LogSource>) => LogSource

/** The law that must find it, by a part of its name, and the source. */
export type WrongSource = readonly [law: string, Wrong: SourceClass]

/** Changes what a source tells the pipeline. */
function telling(change: (intake: Intake) => Partial<Intake>): SourceClass {
  return class extends LogSource {
    override open(intake: Intake): Promise<void> {
      const own: Intake = {
        capacity: intake.capacity,
        deliver: (deliveries) => intake.deliver(deliveries),
        standingChanged: () => intake.standingChanged(),
        report: (event) => intake.report(event),
      }
      return super.open({ ...own, ...change(intake) })
    }
  }
}

/** Changes its deliveries. */
function delivering(change: (delivery: Delivery, epoch: Epoch) => Delivery): SourceClass {
  return class extends LogSource {
    protected override delivery(epoch: Epoch, record: LogRecord): Delivery {
      return change(super.delivery(epoch, record), epoch)
    }
  }
}

/** Changes what of a dead letter is published. */
function publishing(change: (deadLetter: DeadLetter) => Partial<Pick<LogRecord, 'key' | 'headers'>>): SourceClass {
  return class extends LogSource {
    override async deadLetter(deadLetter: DeadLetter): Promise<void> {
      const { key, value } = deadLetter.message
      const headers = { ...deadLetter.message.headers, 'consume-once-reason': deadLetter.reason }
      const record = { key: textOf(key), value, headers, ...change(deadLetter) }
      await this.log.append(deadLetterTopic(this.topic), record)
    }
  }
}

const SETTLES_ALL = 'delivers everything'
const UNFINISHED = 'settles nothing past an unfinished message'
const GONE = 'delivers again what was not settled when its consumer went'

/** Each looks right, and breaks one promise of a source. */
export const WRONG_SOURCES: Readonly<Record<string, WrongSource>> = {
  'does not wait for the confirm of a dead letter': [
    'settles a message that was given up only when',
    class extends LogSource {
      override async deadLetter(deadLetter: DeadLetter): Promise<void> {
        void super.deadLetter(deadLetter).catch(() => {})
      }
    },
  ],
  'dead-letters without the headers of the message': [
    'moves a message that always fails',
    publishing(({ reason }) => ({ headers: { 'consume-once-reason': reason } })),
  ],
  'dead-letters without the key': ['keeps the ordering key', publishing(() => ({ key: null }))],
  'dead-letters without a reason': [
    'moves a message that always fails',
    publishing(({ message }) => ({ headers: message.headers })),
  ],
  'dead-letters twice': [
    'moves a message that always fails',
    class extends LogSource {
      override async deadLetter(deadLetter: DeadLetter): Promise<void> {
        await super.deadLetter(deadLetter)
        await super.deadLetter(deadLetter)
      }
    },
  ],
  'drops a message that was given up': [
    'moves a message that always fails',
    class extends LogSource {
      override async deadLetter(): Promise<void> {}
    },
  ],
  'fetches no more after its first error': [
    'goes on by itself',
    class extends LogSource {
      #hasFailed = false
      protected override async fetch(epoch: Epoch): Promise<readonly LogRecord[]> {
        if (this.#hasFailed) {
          await sleep(20)
          return []
        }
        try {
          return await super.fetch(epoch)
        } catch (error) {
          this.#hasFailed = true
          throw error
        }
      }
    },
  ],
  'has an empty pause': [
    'takes nothing while it is paused',
    class extends LogSource {
      override pause(): void {}
    },
  ],
  'takes all that there is': [
    'takes only as much as there is room for',
    class extends LogSource {
      // Paused by a person it stops, but not because too much is in flight.
      #taken = 0
      protected override mayFetch(): boolean {
        return !this.isPaused || this.#taken > 0
      }
      protected override delivery(epoch: Epoch, record: LogRecord): Delivery {
        const delivery = super.delivery(epoch, record)
        this.#taken++
        return { ...delivery, onEnd: () => void this.#taken-- }
      }
    },
  ],
  'never resumes': [
    'takes nothing while it is paused',
    class extends LogSource {
      override resume(): void {}
    },
  ],
  'never says that a standing has changed': [
    'gives up what another consumer gets',
    telling(() => ({ standingChanged: () => {} })),
  ],
  'calls lost whatever was taken away': [
    'says of what was taken away whether it is lost',
    delivering((delivery) => ({
      ...delivery,
      standing: () => (delivery.standing() === 'current' ? 'current' : 'lost'),
    })),
  ],
  'calls stale what went to another': [
    'gives up what another consumer gets',
    delivering((delivery) => ({
      ...delivery,
      standing: () => (delivery.standing() === 'current' ? 'current' : 'stale'),
    })),
  ],
  'calls every delivery lost': [SETTLES_ALL, delivering((delivery) => ({ ...delivery, standing: () => 'lost' }))],
  'reports no settles': [
    SETTLES_ALL,
    telling((intake) => ({ report: (event) => (event.type === 'settles' ? undefined : intake.report(event)) })),
  ],
  'reports each settle twice': [
    SETTLES_ALL,
    telling((intake) => ({
      report: (event) => {
        intake.report(event)
        if (event.type === 'settles') intake.report(event)
      },
    })),
  ],
  'never settles': [SETTLES_ALL, delivering((delivery) => ({ ...delivery, settle: () => true }))],
  'loses every hundredth message': [
    SETTLES_ALL,
    telling((intake) => {
      let count = 0
      return {
        deliver: (deliveries) => {
          const kept = deliveries.filter((delivery) => ++count % 100 !== 0 || !delivery.settle())
          intake.deliver(kept)
        },
      }
    }),
  ],
  'commits the highest finished offset': [UNFINISHED, committing('on its timer')],
  'commits the highest finished offset when it closes': [GONE, committing('when it closes')],
  'commits what it has fetched on its timer': [
    'settles nothing while the store is down, says so',
    class extends LogSource {
      #isClosing = false
      protected override offsetOf(epoch: Epoch): number {
        return this.#isClosing ? super.offsetOf(epoch) : Math.max(epoch.committed, epoch.next)
      }
      override close(): Promise<void> {
        this.#isClosing = true
        return super.close()
      }
    },
  ],
  'commits what it has fetched when it closes': [
    'settles nothing when it is stopped while the store is down',
    class extends LogSource {
      #isClosing = false
      protected override offsetOf(epoch: Epoch): number {
        return this.#isClosing ? Math.max(epoch.committed, epoch.next) : super.offsetOf(epoch)
      }
      override close(): Promise<void> {
        this.#isClosing = true
        return super.close()
      }
    },
  ],
  'knows no lanes': [
    'handles messages of one ordering key in the order',
    delivering((delivery) => ({ ...delivery, lane: undefined })),
  ],
  'puts all messages into one lane': [
    'handles messages of one ordering key in the order',
    delivering((delivery) => ({ ...delivery, lane: 'all' })),
  ],
  'loses what waits for its next attempt': [
    'tries a message again whose handler failed',
    class extends LogSource {
      retryDelayMs(): number {
        return 1
      }
      async retryLater(_copy: RetryCopy): Promise<void> {}
    },
  ],
  'takes a redelivered message for another one': [
    'runs once what is taken away and delivered again',
    delivering((delivery, { generation, partition }) => {
      const origin = `${partition}/${generation}`
      return { ...delivery, message: { ...delivery.message, origin } }
    }),
  ],
  'delivers nothing of what was under way at a rebalance': [
    'loses nothing and repeats nothing over interruptions',
    class extends LogSource {
      readonly #next = new Map<number, number>()
      protected override delivery(epoch: Epoch, record: LogRecord): Delivery {
        this.#next.set(epoch.partition, record.offset + 1)
        return super.delivery(epoch, record)
      }
      protected override assigned({ generation, committed }: Assignment): void {
        const kept = [...committed].map(([at, offset]) => [at, Math.max(offset, this.#next.get(at) ?? 0)] as const)
        super.assigned({ generation, committed: new Map(kept) })
      }
    },
  ],
  'cannot be closed while it joins': [
    'takes a stop during its start as no failure',
    class extends LogSource {
      #isOpening = false
      override async open(intake: Intake): Promise<void> {
        this.#isOpening = true
        await sleep(200)
        await super.open(intake)
        this.#isOpening = false
      }
      override async close(): Promise<void> {
        if (!this.#isOpening) await super.close()
      }
    },
  ],
  'does not flush at its end': [
    'stops in order',
    class extends LogSource {
      #isClosing = false
      protected override offsetOf(epoch: Epoch): number {
        return this.#isClosing ? epoch.committed : super.offsetOf(epoch)
      }
      override async close(): Promise<void> {
        this.#isClosing = true
        await super.close()
      }
    },
  ],
}

/** What lies below the highest finished offset is not finished. */
function committing(when: 'on its timer' | 'when it closes'): SourceClass {
  return class extends LogSource {
    readonly #highest = new Map<Epoch, number>()
    #isClosing = false
    protected override delivery(epoch: Epoch, record: LogRecord): Delivery {
      const delivery = super.delivery(epoch, record)
      const settle = (): boolean => {
        this.#highest.set(epoch, Math.max(this.#highest.get(epoch) ?? 0, record.offset + 1))
        return delivery.settle()
      }
      return { ...delivery, settle }
    }
    protected override offsetOf(epoch: Epoch): number {
      const right = super.offsetOf(epoch)
      return this.#isClosing === (when === 'when it closes') ? Math.max(right, this.#highest.get(epoch) ?? 0) : right
    }
    override async close(): Promise<void> {
      this.#isClosing = true
      await super.close()
    }
  }
}
