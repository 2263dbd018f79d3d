import { describe, expect, it } from '@jest/globals'
import { runKafka } from '../../adapters/platformatic-kafka/index.ts'
import { defineConsumer, type Running } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { stoppedAfterEach } from '../../test/kit/after-each.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { openedOnce } from '../../test/kit/opened.ts'
import { Watching } from '../../test/kit/recording-intake.ts'
import { platformaticOf } from '../../test/kafka/client/platformatic.ts'
import { Cluster, FAST } from '../../test/kafka/kit.ts'

/** The message of each partition whose handler waits. */
const WAITS = 3
const MESSAGES = 5

let cluster: Cluster
const running = stoppedAfterEach<Running>({ deadlineMs: 1_000 })

openedOnce(Cluster, (made) => (cluster = made))

class Gate {
  open: () => void = () => {}
  readonly opened: Promise<void> = new Promise((resolve) => (this.open = resolve))
}

/** Two partitions of a group by KIP-848, whose handlers wait at one of the messages. */
class Scene {
  readonly group: string = uniqueName('group')
  /** `partition@offset` as handlers have ended, of all members. */
  readonly handled: string[] = []
  readonly begun: string[] = []
  readonly gates: readonly [Gate, Gate] = [new Gate(), new Gate()]
  readonly topic: string
  readonly #store = memoryStore()

  constructor(topic: string) {
    this.topic = topic
  }

  static async open(): Promise<Scene> {
    const scene = new Scene(await cluster.topic(2))
    for (const partition of [0, 1]) {
      const messages = Array.from({ length: MESSAGES }, (_, offset) => ({
        key: `key ${partition}`,
        value: JSON.stringify({ id: `${partition}@${offset}` }),
      }))
      await cluster.send(scene.topic, messages, partition)
    }
    return scene
  }

  async start(commitEveryMs: number): Promise<Watching> {
    const watching = new Watching()
    const consumer = defineConsumer<{ readonly id: string }>({
      name: 'revoked',
      id: ({ payload }) => payload.id,
      store: this.#store,
      observe: watching.observe,
      handle: async ({ message: { position } }) => {
        this.begun.push(position)
        for (const partition of [0, 1] as const) {
          if (position === `${partition}@${WAITS}`) await this.gates[partition].opened
        }
        this.handled.push(position)
      },
    })
    const consumerConfig = { ...FAST.consumerConfig, groupProtocol: 'consumer' as const }
    const options = { topics: [this.topic], group: this.group, commitEveryMs, consumerConfig }
    running.push(await runKafka(platformaticOf(cluster.brokers), consumer, options))
    return watching
  }
}

/** `partition@offset outcome` of each delivery that has ended. */
function deliveriesOf({ events }: Watching): readonly string[] {
  return events.flatMap((event) => (event.type === 'delivery' ? [`${event.message.position} ${event.outcome}`] : []))
}

describe('a member by KIP-848 that is asked to give up a partition while a handler runs there', () => {
  it('commits what is settled before it does, and the next member begins behind that and repeats nothing', async () => {
    const scene = await Scene.open()
    const { group, topic, gates } = scene
    // Nothing but the revocation makes it commit.
    const old = await scene.start(3_600_000)
    await eventually(async () => [0, 1].every((partition) => scene.begun.includes(`${partition}@${WAITS}`)))
    expect(await cluster.committed(group, topic)).toEqual([-1, -1])

    const next = await scene.start(50)
    await old.untilTold('group-changed')
    await eventually(async () => Math.max(...(await cluster.committed(group, topic))) === WAITS)
    const history = await cluster.commitHistory(group)
    expect([history.get(`${topic}/0`), history.get(`${topic}/1`)]).toEqual([[WAITS], [WAITS]])

    await eventually(async () => running[1]?.health().partitions.length === 1)
    const moved = running[1]?.health().partitions[0]?.name === `${topic}/0` ? 0 : 1
    gates[moved].open()
    await next.untilOutcomes('handled', MESSAGES - WAITS - 1)
    expect(deliveriesOf(next)).toEqual([`${moved}@${WAITS} duplicate`, `${moved}@${WAITS + 1} handled`])

    gates[moved === 0 ? 1 : 0].open()
    await old.untilOutcomes('handled', WAITS + MESSAGES)
    await Promise.all(running.splice(0).map((one) => one.stop()))
    const all = [0, 1].flatMap((partition) => Array.from({ length: MESSAGES }, (_, offset) => `${partition}@${offset}`))
    expect([scene.handled.toSorted(), scene.begun.toSorted()]).toEqual([all, all])
    expect(await cluster.committed(group, topic)).toEqual([MESSAGES, MESSAGES])
    for (const offsets of (await cluster.commitHistory(group)).values()) {
      expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
    }
  }, 60_000)
})
