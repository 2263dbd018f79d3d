import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'amqplib'
import { Kafka, logLevel } from 'kafkajs'
import { compiled } from '../../test/kit/compiled.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { startPrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { startPrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { server } from '../../test/kit/servers/server.ts'
import { forgetProcess, recordProcess } from '../../test/kit/servers/test-run.ts'
import type { Round, Taken } from './figures.ts'
import { PAYLOAD_BYTES, PER_SECOND, type Case, type WorkerSettings } from './plan.ts'

const LOOK_EVERY_MS = 500
/** Of `/proc/PID/stat`: Linux tells every architecture the same. */
const TICKS_PER_SECOND = 100
const PARTITIONS = 4

/** Where the messages go that a worker handles. */
interface Place extends AsyncDisposable {
  readonly broker: string
  readonly name: string
  send(messages: readonly Message[]): Promise<void>
}

interface Message {
  readonly id: string
  readonly value: Buffer
}

/** Further from what was sent the figures are those of another rate. */
const MOST_BESIDE = 0.05

/** Whether the worker handled what was sent while it was looked at: on a busy machine it may lag. */
export function keptUp({ loaded }: Round): boolean {
  return Math.abs(loaded.handledPerSecond / PER_SECOND - 1) <= MOST_BESIDE
}

/** One worker of its own, with a store of its own beside the shared broker: idle for so long, then loaded for so long. */
export async function runRound(what: Case, seconds: number): Promise<Round> {
  await using place = what === 'kafka-redis' ? await onKafka() : await onRabbit()
  await using store = await (what === 'kafka-redis' ? startPrivateRedis() : startPrivatePostgres())
  await using worker = await Worker.start({ what, broker: place.broker, place: place.name, storeUrl: store.url })
  const idle = await worker.taken(seconds)
  await using load = new Load(place)
  await eventually(async () => (await worker.handled()) > 10 * PER_SECOND) // What is compiled and grown first is not counted.
  const loaded = await worker.taken(seconds)
  await load.end()
  await eventually(async () => (await worker.handled()) === load.sent, 300_000)
  return { idle, loaded }
}

/** Sends `PER_SECOND`, in a hundredth of a second a hundredth of it, however long a send takes. */
class Load implements AsyncDisposable {
  sent = 0
  readonly #sending: Promise<void>
  #isOver = false

  constructor(place: Place) {
    this.#sending = this.#send(place)
    this.#sending.catch(() => {}) // `end` tells it.
  }

  end(): Promise<void> {
    this.#isOver = true
    return this.#sending
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end()
  }

  async #send(place: Place): Promise<void> {
    const from = performance.now()
    const text = 'x'.repeat(PAYLOAD_BYTES - JSON.stringify({ text: '' }).length)
    const value = Buffer.from(JSON.stringify({ text }))
    while (!this.#isOver) {
      const due = Math.floor(((performance.now() - from) / 1_000) * PER_SECOND) - this.sent
      const messages = Array.from({ length: due }, (_, at) => ({ id: `message-${this.sent + at}`, value }))
      if (due > 0) await place.send(messages)
      this.sent += due
      await sleep(10)
    }
  }
}

class Worker implements AsyncDisposable {
  readonly #process: ChildProcess
  readonly #metrics: string

  private constructor(process: ChildProcess, port: number) {
    this.#process = process
    this.#metrics = `http://127.0.0.1:${port}/metrics`
  }

  static async start(settings: WorkerSettings): Promise<Worker> {
    const args = [compiled('lab/footprint/worker.ts'), JSON.stringify(settings)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env: environment() })
    if (child.pid !== undefined) recordProcess(child.pid, 'SIGKILL')
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`the worker ended before it was ready, with ${String(code)}`)
    })
    const [port] = (await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended])) as [string]
    ended.catch(() => {})
    return new Worker(child, Number(port))
  }

  async handled(): Promise<number> {
    const text = await (await fetch(this.#metrics)).text()
    const lines = text.matchAll(/^consume_once_deliveries_total\{[^}]*outcome="handled"[^}]*\} (\d+)$/gm)
    return [...lines].reduce((sum, [, count]) => sum + Number(count), 0)
  }

  async taken(seconds: number): Promise<Taken> {
    const [from, cpuBefore, handledBefore] = [performance.now(), this.#cpuSeconds(), await this.handled()]
    let memoryMib = 0
    while (performance.now() - from < seconds * 1_000) {
      memoryMib = Math.max(memoryMib, this.#residentMib())
      await sleep(LOOK_EVERY_MS)
    }
    const cpu = this.#cpuSeconds() - cpuBefore
    const handled = (await this.handled()) - handledBefore
    const took = (performance.now() - from) / 1_000
    return {
      handledPerSecond: round(handled / took),
      millicores: round((cpu / took) * 1_000),
      memoryMib: round(memoryMib),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGTERM')
    await ended
    if (this.#process.pid !== undefined) forgetProcess(this.#process.pid)
  }

  #cpuSeconds(): number {
    // The name of the program, in brackets, may have spaces.
    const [, rest = ''] = this.#read('stat').split(') ')
    const [user, system] = rest.split(' ').slice(11, 13)
    return (Number(user) + Number(system)) / TICKS_PER_SECOND
  }

  #residentMib(): number {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(this.#read('status'))?.[1]) / 1_024
  }

  #read(name: string): string {
    return readFileSync(`/proc/${this.#process.pid}/${name}`, 'utf8')
  }
}

/** Without what this process was started with, such as a loader. */
function environment(): NodeJS.ProcessEnv {
  return { ...process.env, NODE_OPTIONS: '', NODE_ENV: 'production' }
}

function round(figure: number): number {
  return Math.round(figure * 10) / 10
}

async function onKafka(): Promise<Place> {
  const { brokers } = await server('kafka')
  const name = uniqueName('footprint')
  const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING })
  const [admin, producer] = [kafka.admin(), kafka.producer()]
  await Promise.all([admin.connect(), producer.connect()])
  await admin.createTopics({ waitForLeaders: true, topics: [{ topic: name, numPartitions: PARTITIONS }] })
  return {
    broker: brokers[0] ?? '',
    name,
    send: async (messages) => {
      const sent = messages.map(({ id, value }) => ({ key: id, value, headers: { 'message-id': id } }))
      await producer.send({ topic: name, messages: sent, acks: -1 })
    },
    [Symbol.asyncDispose]: async () => {
      await producer.disconnect()
      await admin.deleteTopics({ topics: [name, `${name}.dead-letter`] }).catch(() => {})
      await admin.disconnect()
    },
  }
}

async function onRabbit(): Promise<Place> {
  const { url } = await server('rabbitmq')
  const name = uniqueName('footprint')
  const connection = await connect(url)
  const channel = await connection.createConfirmChannel()
  await channel.assertQueue(name, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
  return {
    broker: url,
    name,
    send: async (messages) => {
      for (const { id, value } of messages) channel.sendToQueue(name, value, { messageId: id, persistent: true })
      await channel.waitForConfirms()
    },
    [Symbol.asyncDispose]: async () => {
      for (const queue of [name, `${name}.dead-letter`]) await channel.deleteQueue(queue)
      await connection.close()
    },
  }
}
