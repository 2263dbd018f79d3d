import type { KafkaOptions } from '../../../adapters/kafkajs/index.ts'
import { StoreError } from '../../../src/index.ts'
import type { Source, StoredPositions } from '../../../src/internal.ts'
import { eventually } from '../../kit/eventually.ts'
import { RecordingIntake } from '../../kit/recording-intake.ts'
import type { ScriptedConsumer, ScriptedKafka } from '../../kafka/scripted.ts'
import { kafkaWith, sourceOf } from './joined-source.ts'

/** A pipeline whose store keeps positions. */
class StoredIntake extends RecordingIntake {
  readonly stored: Map<string, bigint>
  /** Times of the messages right before the positions. */
  readonly timestamps: Map<string, number> = new Map()
  readonly held: Map<string, string> = new Map()
  readonly reads: string[] = []
  isDown = false
  /** The store answers after this. */
  beforeAnswer: () => Promise<void> = async () => {}

  constructor(stored: Readonly<Record<string, bigint>>) {
    super()
    this.stored = new Map(Object.entries(stored))
  }

  readonly storedPositions: StoredPositions = {
    next: async (streams) => {
      this.reads.push(streams.join(' '))
      if (this.isDown) throw new StoreError('STORE_UNREACHABLE', 'down')
      await this.beforeAnswer()
      const wanted = [...this.stored].filter(([stream]) => streams.includes(stream))
      return new Map(
        wanted.map(([stream, next]) => [
          stream,
          { next, timestamp: this.timestamps.get(stream), held: this.held.get(stream) },
        ]),
      )
    },
    hold: async (stream, next, why) => {
      if (this.isDown) throw new StoreError('STORE_UNREACHABLE', 'down')
      if (this.stored.get(stream) === next && !this.held.has(stream)) this.held.set(stream, why)
    },
    prove: async (stream, next) => {
      if (this.isDown) throw new StoreError('STORE_UNREACHABLE', 'down')
      if (this.stored.get(stream) === next) this.held.delete(stream)
    },
  }

  get follows(): readonly (bigint | undefined)[] {
    return this.deliveries.map(({ position }) => position?.follows)
  }
}

export interface Started {
  readonly kafka: ScriptedKafka
  readonly consumer: ScriptedConsumer
  readonly source: Source
  readonly intake: StoredIntake
}

interface Given {
  readonly committed?: number
  readonly stored?: Readonly<Record<string, bigint>>
  /** When the message right before the stored position came. */
  readonly at?: number
  /** Why the partition is held, in the store. */
  readonly held?: string
  readonly options?: Partial<KafkaOptions>
}

/** A source that has joined with partition 0 of `t`, of which the broker has 0 to 100, and gone to where it begins. */
export async function startStored(given: Given): Promise<Started> {
  const { kafka, source, intake, opening } = openStored(given)
  await opening
  const begins = given.stored?.['t/0'] !== undefined
  await eventually(async () => kafka.newest.seeks.length + kafka.newest.pausedNow.size > 0 || !begins)
  return { kafka, consumer: kafka.newest, source, intake }
}

export function openStored({ committed = 5, stored = {}, at, held, options = {} }: Given): Omit<Started, 'consumer'> & {
  readonly opening: Promise<void>
} {
  const kafka = kafkaWith(committed)
  const source = sourceOf(kafka, { topics: ['t'], ...options })
  const intake = new StoredIntake(stored)
  if (at !== undefined) intake.timestamps.set('t/0', at)
  if (held !== undefined) intake.held.set('t/0', held)
  return { kafka, source, intake, opening: source.open(intake) }
}
