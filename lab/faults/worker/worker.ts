import type { WorkerLine } from '../../kit/worker/protocol.ts'
import { WorkerProcess } from '../../kit/worker/worker-process.ts'
import type { Cell } from '../cell.ts'
import type { Recorder } from '../recorder.ts'
import type { BrokerPlace } from '../stage/broker-side.ts'
import type { Stage } from '../stage/stage.ts'
import { TERMS, type StoreName } from '../strategy.ts'
import type { Listener, Seen, Target } from '../wire/listener.ts'
import { kafkaListener, type Membership } from '../wire/kafka-listener.ts'
import { WireProxy, type Action } from '../wire/proxy.ts'
import { postgresLeaseListener, transactionListener } from '../wire/postgres-listener.ts'
import { providerListener } from '../wire/provider-listener.ts'
import { rabbitListener } from '../wire/rabbit-listener.ts'
import { redisListener } from '../wire/redis-listener.ts'
import type { HandlerReport } from '../settings.ts'
import { specOf } from './spec.ts'
import type { Sends } from '../wire/sends.ts'

/** What all workers of a cell share. */
export interface CellContext {
  readonly cell: Cell
  readonly stage: Stage
  readonly place: BrokerPlace
  readonly prefix: string
  readonly sends: Sends
  readonly target: Target
  readonly recorder: Recorder
  readonly judge: (worker: Worker, seen: Seen) => Action
}

/** A worker process, with the proxies through which it reaches its servers. */
export class Worker implements AsyncDisposable {
  readonly name: string
  readonly process: WorkerProcess<HandlerReport>
  readonly #proxies: WorkerProxies

  private constructor(process: WorkerProcess<HandlerReport>, proxies: WorkerProxies) {
    this.name = process.name
    this.process = process
    this.#proxies = proxies
  }

  static async start(name: string, context: CellContext): Promise<Worker> {
    const proxies = await openProxies(name, context, (seen) => context.judge(worker, seen))
    const spec = specOf(name, context, {
      toBroker: proxies.broker.port,
      toStore: proxies.store.port,
      toProvider: proxies.provider.port,
      isFirst: name === FIRST_WORKER,
    })
    const module = new URL('module.ts', import.meta.url)
    const process = new WorkerProcess<HandlerReport>(module, spec, (line) => record(context, name, line))
    const worker = new Worker(process, proxies)
    return worker
  }

  get toBroker(): WireProxy {
    return this.#proxies.broker
  }

  get toStore(): WireProxy {
    return this.#proxies.store
  }

  /** Forwards all held bytes. */
  release(): void {
    for (const proxy of Object.values(this.#proxies)) proxy.release()
  }

  /** Breaks silent connections. */
  endSilence(): void {
    for (const proxy of Object.values(this.#proxies)) proxy.endSilence()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill()
    await Promise.all(Object.values(this.#proxies).map((proxy) => proxy[Symbol.asyncDispose]()))
  }
}

/** The worker whose clock may be wrong, and whose store may be unreachable. */
const FIRST_WORKER = 'w1'

type WorkerProxies = Readonly<Record<'broker' | 'store' | 'provider', WireProxy>>

async function openProxies(name: string, context: CellContext, judge: (seen: Seen) => Action): Promise<WorkerProxies> {
  const { cell, stage, place, target, recorder } = context
  const open = (targetPort: number, listener: (connection: number) => Listener): Promise<WireProxy> =>
    WireProxy.open({
      targetPort,
      listener,
      judge,
      arrived: ({ event }) => {
        if (event !== undefined) recorder.record(name, event)
      },
    })
  const { store } = TERMS[cell.strategy]
  const { url } = store === 'lease on redis' ? stage.redis : stage.postgres
  const toStore = await open(Number(new URL(url).port), () => storeListener(store, target))
  if (name === FIRST_WORKER && cell.fault.kind === 'store-away') toStore.routeTo(undefined)
  return {
    broker: await open(place.port, brokerListener(name, context)),
    store: toStore,
    provider: await open(stage.provider.port, () => providerListener(target)),
  }
}

function storeListener(store: StoreName, target: Target): Listener {
  switch (store) {
    case 'inbox':
    case 'offsets':
      return transactionListener(store, target)
    case 'lease on postgres':
      return postgresLeaseListener(target)
    case 'lease on redis':
      return redisListener(target)
  }
}

function brokerListener(name: string, { cell, place, sends }: CellContext): (connection: number) => Listener {
  switch (cell.broker) {
    case 'rabbitmq':
      return (connection) => rabbitListener(`${name}/${connection}`, sends)
    case 'kafka': {
      const membership: Membership = { generation: 0 }
      return () => kafkaListener(name, place, membership, sends)
    }
  }
}

function record({ recorder, place }: CellContext, name: string, line: WorkerLine<HandlerReport>): void {
  const subjectOf = (id: string): string => `${place.group}:${id}`
  switch (line.says) {
    case 'observed': {
      const subject = line.id === undefined ? undefined : subjectOf(line.id)
      return recorder.record(name, { f: 'tell', what: line.what, subject }, line.at)
    }
    case 'report': {
      const { id, ...event } = line.report
      return recorder.record(name, { ...event, subject: subjectOf(id) }, line.at)
    }
    case 'loaded':
    case 'running':
    case 'stopping':
    case 'stopped':
      return
  }
}
