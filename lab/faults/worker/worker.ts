import type { WorkerLine } from '../../kit/worker/protocol.ts'
import { WorkerProcess } from '../../kit/worker/worker-process.ts'
import type { Cell } from '../cell.ts'
import type { Recorder } from '../recorder.ts'
import type { BrokerPlace } from '../stage/broker-side.ts'
import type { Stage } from '../stage/stage.ts'
import { TERMS, type StoreName } from '../strategy.ts'
import type { Ears, Seen, Sends, Target } from '../wire/ears.ts'
import { kafkaEars, type Membership } from '../wire/kafka-ears.ts'
import { Link, type Fate } from '../wire/link.ts'
import { postgresLeaseEars, transactionEars } from '../wire/postgres-ears.ts'
import { providerEars } from '../wire/provider-ears.ts'
import { rabbitEars } from '../wire/rabbit-ears.ts'
import { redisEars } from '../wire/redis-ears.ts'
import type { FaultTold } from './settings.ts'
import { specOf } from './spec.ts'

/** What all workers of a cell share. */
export interface Ground {
  readonly cell: Cell
  readonly stage: Stage
  readonly place: BrokerPlace
  readonly prefix: string
  readonly sends: Sends
  readonly target: Target
  readonly recorder: Recorder
  readonly judge: (worker: Worker, seen: Seen) => Fate
}

/** A process with the links that it reaches its servers through: whatever it says to them is seen. */
export class Worker implements AsyncDisposable {
  readonly name: string
  readonly process: WorkerProcess<FaultTold>
  readonly #links: Links

  private constructor(process: WorkerProcess<FaultTold>, links: Links) {
    this.name = process.name
    this.process = process
    this.#links = links
  }

  static async start(name: string, ground: Ground): Promise<Worker> {
    const links = await openLinks(name, ground, (seen) => ground.judge(worker, seen))
    const spec = specOf(name, ground, {
      toBroker: links.broker.port,
      toStore: links.store.port,
      toProvider: links.provider.port,
      isFirst: name === FIRST_WORKER,
    })
    const module = new URL('module.ts', import.meta.url)
    const process = new WorkerProcess<FaultTold>(module, spec, (line) => hear(ground, name, line))
    const worker = new Worker(process, links)
    return worker
  }

  get toBroker(): Link {
    return this.#links.broker
  }

  get toStore(): Link {
    return this.#links.store
  }

  /** What was held on its way arrives. */
  release(): void {
    for (const link of Object.values(this.#links)) link.release()
  }

  /** Connections that nothing came through any more are lost. */
  endSilence(): void {
    for (const link of Object.values(this.#links)) link.endSilence()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill()
    await Promise.all(Object.values(this.#links).map((link) => link[Symbol.asyncDispose]()))
  }
}

/** Its calendar may be wrong, and its store out of reach. */
const FIRST_WORKER = 'w1'

type Links = Readonly<Record<'broker' | 'store' | 'provider', Link>>

async function openLinks(name: string, ground: Ground, judge: (seen: Seen) => Fate): Promise<Links> {
  const { cell, stage, place, target, recorder } = ground
  const open = (targetPort: number, ears: (connection: number) => Ears): Promise<Link> =>
    Link.open({
      targetPort,
      ears,
      judge,
      arrived: ({ event }) => {
        if (event !== undefined) recorder.record(name, event)
      },
    })
  const { store } = TERMS[cell.strategy]
  const { url } = store === 'lease on redis' ? stage.redis : stage.postgres
  const toStore = await open(Number(new URL(url).port), () => storeEars(store, target))
  if (name === FIRST_WORKER && cell.harm.kind === 'store-away') toStore.leadTo(undefined)
  return {
    broker: await open(place.port, brokerEars(name, ground)),
    store: toStore,
    provider: await open(stage.provider.port, () => providerEars(target)),
  }
}

function storeEars(store: StoreName, target: Target): Ears {
  switch (store) {
    case 'inbox':
    case 'offsets':
      return transactionEars(store, target)
    case 'lease on postgres':
      return postgresLeaseEars(target)
    case 'lease on redis':
      return redisEars(target)
  }
}

function brokerEars(name: string, { cell, place, sends }: Ground): (connection: number) => Ears {
  switch (cell.broker) {
    case 'rabbitmq':
      return (connection) => rabbitEars(`${name}/${connection}`, sends)
    case 'kafka': {
      const membership: Membership = { generation: 0 }
      return () => kafkaEars(name, place, membership, sends)
    }
  }
}

function hear({ recorder, place }: Ground, name: string, line: WorkerLine<FaultTold>): void {
  const subjectOf = (id: string): string => `${place.group}:${id}`
  switch (line.says) {
    case 'observed': {
      const subject = line.id === undefined ? undefined : subjectOf(line.id)
      return recorder.record(name, { f: 'tell', what: line.what, subject }, line.at)
    }
    case 'told': {
      const { id, ...event } = line.told
      return recorder.record(name, { ...event, subject: subjectOf(id) }, line.at)
    }
    case 'loaded':
    case 'running':
    case 'stopped':
      return
  }
}
