import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Client } from 'pg'
import { Cluster } from '../../test/kafka/kit.ts'
import { Cli, type CliRun } from '../../test/kit/cli-process.ts'
import { compiled } from '../../test/kit/compiled.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { startPrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { startPrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { freePort } from '../../test/kit/servers/ports.ts'
import { needPrometheus } from '../../test/kit/servers/programs.ts'
import { startPrivatePrometheus, type PrivatePrometheus } from '../../test/kit/servers/private-prometheus.ts'
import { forgetProcess, recordProcess } from '../../test/kit/servers/test-run.ts'
import type { Deployed } from './consumer.ts'
import { inSeconds, wordsOf } from './runbook.ts'

/** What a scene has. */
interface Setting {
  /** How long a minute of the rules lasts. @defaultValue 1 */
  readonly secondsAMinute?: number
  /** Partitions of the topic. @defaultValue 1 */
  readonly partitions?: number
}

interface Alert {
  readonly labels: { readonly alertname: string }
  readonly state: 'pending' | 'firing'
}

/**
 * Servers of one incident, with the names of the pages: topic and group `sms`. A worker at a time is deployed, a Prometheus
 * with the rules of the package watches it, and a person has the tool.
 */
export class Scene implements AsyncDisposable {
  readonly cli: Cli
  readonly cluster: Cluster
  readonly #ends: readonly (() => Promise<unknown>)[]
  readonly #prometheus: PrivatePrometheus
  readonly #database: Client
  readonly #settings: Pick<Deployed, 'brokers' | 'databaseUrl' | 'store'>
  readonly #healthPort: number
  readonly #setting: Required<Setting>
  #worker: ChildProcess | undefined
  #deployed: Deployed | undefined

  private constructor(
    ends: readonly (() => Promise<unknown>)[],
    cli: Cli,
    cluster: Cluster,
    prometheus: PrivatePrometheus,
    database: Client,
    healthPort: number,
    settings: Pick<Deployed, 'brokers' | 'databaseUrl' | 'store'>,
    setting: Required<Setting>,
  ) {
    this.#ends = ends
    this.#setting = setting
    this.cli = cli
    this.cluster = cluster
    this.#prometheus = prometheus
    this.#database = database
    this.#healthPort = healthPort
    this.#settings = settings
  }

  static async open(store: Deployed['store'], { secondsAMinute = 1, partitions = 1 }: Setting = {}): Promise<Scene> {
    const setting = { secondsAMinute, partitions }
    const ends: (() => Promise<unknown>)[] = []
    const use = <T extends AsyncDisposable>(opened: T): T => {
      ends.push(async () => opened[Symbol.asyncDispose]())
      return opened
    }
    try {
      const kafka = use(await startPrivateKafka())
      const postgres = use(await startPrivatePostgres())
      const cluster = use(await Cluster.open(kafka.brokers))
      const database = new Client(postgres.url)
      await database.connect()
      ends.push(() => database.end())
      await database.query('create table effects (id text not null)')
      const healthPort = await freePort()
      const cli = new Cli()
      ends.push(async () => cli[Symbol.dispose]())
      const rules = cli.file(
        'rules.yml',
        inSeconds(readFileSync('observability/prometheus-alerts.yml', 'utf8'), secondsAMinute),
      )
      const targets = [`127.0.0.1:${healthPort}`]
      const prometheus = use(await startPrivatePrometheus({ targets, ruleFiles: [rules] }))
      const settings = { brokers: kafka.brokers, databaseUrl: postgres.url, store }
      const scene = new Scene(ends, cli, cluster, prometheus, database, healthPort, settings, setting)
      await scene.makeTopic()
      return scene
    } catch (error) {
      await endAll(ends)
      throw error
    }
  }

  async makeTopic(): Promise<void> {
    // The producer of the tests may have made it again before.
    await this.cluster.admin
      .createTopics({ topics: [{ topic: 'sms', numPartitions: this.#setting.partitions }] })
      .catch(() => false)
    await eventually(async () => (await this.cluster.admin.listTopics()).includes('sms'))
  }

  /** @param keyOf - that of Kafka. @defaultValue the ID */
  async send(ids: readonly string[], keyOf: (id: string) => string = (id) => id): Promise<void> {
    const { partitions } = this.#setting
    for (let partition = 0; partition < partitions; partition++) {
      const sent = ids.filter(
        (id) => Buffer.from(keyOf(id)).reduce((sum, byte) => sum + byte, 0) % partitions === partition,
      )
      const messages = sent.map((id) => ({ value: `{"id":"${id}"}`, key: keyOf(id), headers: { id } }))
      if (messages.length > 0) await this.cluster.send('sms', messages, partition)
    }
  }

  /** The database of the consumer and its effects. */
  query(sql: string): Promise<unknown> {
    return this.#database.query(sql)
  }

  /** A version that is not deployed yet: from now on it is that of the tool. */
  prepare(version: Partial<Deployed>): void {
    this.#deployed = { ...this.#settings, ...version }
  }

  /** In place of the version before. */
  async deploy(version: Partial<Deployed> = {}): Promise<void> {
    await this.undeploy()
    this.prepare(version)
    const child = spawn(process.execPath, [compiled('lab/on-call/worker.ts')], {
      env: { ...process.env, NODE_OPTIONS: '', ...this.#env(), HEALTH_PORT: String(this.#healthPort) },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    if (child.pid !== undefined) recordProcess(child.pid, 'SIGKILL')
    this.#worker = child
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`the worker ended with ${String(code)} before it answered`)
    })
    await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended])
    ended.catch(() => {})
  }

  async undeploy(): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    this.#worker = undefined
    const ended = once(worker, 'exit')
    worker.kill('SIGTERM')
    await ended
    if (worker.pid !== undefined) forgetProcess(worker.pid)
  }

  /** IDs whose effect happened, as often as it happened. */
  async effects(): Promise<readonly string[]> {
    const { rows } = await this.#database.query<{ id: string }>('select id from effects order by id')
    return rows.map(({ id }) => id)
  }

  async isFiring(alert: string): Promise<boolean> {
    const { alerts } = (await this.#prometheus.api('alerts')) as { readonly alerts: readonly Alert[] }
    return alerts.some(({ labels, state }) => labels.alertname === alert && state === 'firing')
  }

  untilFiring(alert: string): Promise<void> {
    return eventually(() => this.isFiring(alert), 400_000)
  }

  /** Prometheus has heard of this consumer. */
  untilHeard(consumer: string): Promise<void> {
    return eventually(
      async () => (await this.#prometheus.query(`consume_once_live{consumer="${consumer}"}`)).length > 0,
    )
  }

  untilOver(alert: string): Promise<void> {
    return eventually(async () => !(await this.isFiring(alert)), 240_000)
  }

  /** What a person types, as it is printed: the tool, curl or promtool. No terminal confirms it. */
  async type(command: string): Promise<string> {
    const told = await this.#typed(command)
    console.log(`$ ${command}\n${told}`)
    return told
  }

  /** The same, one after the other, and not told. */
  async typed(commands: readonly string[]): Promise<readonly string[]> {
    const said: string[] = []
    for (const command of commands) said.push(await this.#typed(command))
    return said
  }

  async #typed(command: string): Promise<string> {
    if (command.startsWith('curl ')) {
      const [url = ''] = wordsOf(command).slice(-1)
      return await (await fetch(`http://${url.replace('localhost:9464', `127.0.0.1:${this.#healthPort}`)}`)).text()
    }
    if (command.startsWith('promtool ')) {
      const { promtool } = await needPrometheus()
      const words = wordsOf(inSeconds(command, this.#setting.secondsAMinute)).slice(1)
      const args = words.map((word) => word.replace('http://localhost:9090', this.#prometheus.url))
      return execFileSync(promtool, args, { encoding: 'utf8' })
    }
    const [npx, tool, ...words] = wordsOf(command)
    if (npx !== 'npx' || tool !== 'consume-once') throw new Error(`a person cannot type this here: ${command}`)
    const args = words.includes('--reason') ? [...words, '--yes'] : words
    const { stdout, stderr }: CliRun = await this.cli.run(args, {
      env: { ...this.#env(), CONSUME_ONCE_CONFIG: compiled('lab/on-call/on-call.config.ts') },
      cwd: this.cli.dir, // A command may write a file.
    })
    return stderr + stdout
  }

  #env(): Readonly<Record<string, string>> {
    return { ON_CALL: JSON.stringify(this.#deployed) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.undeploy()
    await endAll(this.#ends)
  }
}

/** The last one first. */
async function endAll(ends: readonly (() => Promise<unknown>)[]): Promise<void> {
  for (const end of ends.toReversed()) await end()
}

/** The time from an alert to its end, and what was read meanwhile: told at the end of a test. */
export class Clock {
  readonly #from = performance.now()

  get seconds(): number {
    return Math.round((performance.now() - this.#from) / 1_000)
  }
}
