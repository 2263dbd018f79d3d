import { setTimeout as sleep } from 'node:timers/promises'
import { Rabbit } from '../../../test/rabbitmq/rabbit.ts'
import { startFaultProxy } from '../../../test/kit/fault-proxy.ts'
import { uniqueName } from '../../../test/kit/namespace.ts'
import { startPrivateRabbit } from '../../../test/kit/servers/private-rabbit.ts'
import { WORKERS } from '../plan.ts'
import { nothingBeside, type Beside } from '../beside.ts'
import { OF_A_SOAK } from '../messages.ts'
import type { ChaosRun } from '../report.ts'
import type { Pace } from '../pace.ts'
import { Stage } from '../stage.ts'
import { together } from '../together.ts'
import type { Evidence } from './evidence.ts'
import { injectFaults } from './faults.ts'
import { judge } from './judge.ts'
import { SHAPE } from './messages.ts'
import { planOf, type RabbitOptions } from './plan.ts'
import { Sending, Sent } from './sending.ts'
import { HEARTBEAT_SECONDS, LEASE_MS, sourceOf, TUNING } from './settings.ts'
import { WireTap } from './wire-tap.ts'

const LOOK_EVERY_MS = 250

/** One run, on servers of its own. A seed plans the same messages and faults; how they meet is up to the machine. */
export async function runChaosOnRabbit(options: RabbitOptions, beside: Beside = nothingBeside): Promise<ChaosRun> {
  await using rabbit = await startPrivateRabbit()
  const queue = uniqueName('chaos')
  const wire = new WireTap(deadLettersOf(queue))
  await using proxy = await startFaultProxy(Number(new URL(rabbit.url).port), wire.listen)
  const url = proxied(rabbit.url, proxy.port)
  return await Stage.with(options, async (stage) => {
    const { journal } = stage
    const workers = stage.hire({
      module: new URL('worker.ts', import.meta.url),
      source: sourceOf(url, queue),
      tuning: TUNING,
    })
    const known = new Sent()
    const act = async (pace: Pace, signal: AbortSignal): Promise<void> => {
      const shape = options.soak === undefined ? SHAPE : OF_A_SOAK
      const sending = new Sending({ ...options, url, queue, shape, pace, signal }, known)
      await untilDeclared(rabbit.url, queue, signal)
      const injecting = injectFaults({ plan: planOf(options), pace, rabbit, proxy, workers, journal })
      await together([injecting, sending.run()])
      journal.note('run', 'all is sent, every fault has healed')
      await untilDrained(rabbit.url, queue, wire, signal)
    }
    await stage.play({ act, beside, backlog: () => backlogOf(rabbit.url, queue, wire) })
    const evidence: Evidence = {
      acknowledged: known.acknowledged,
      sent: known.sent,
      poison: known.poison,
      ...(await gatherQueues(rabbit.url, queue)),
      ...(await stage.gather(LEASE_MS)),
      wire,
    }
    return { options, verdict: judge(evidence), journal, evidence, seconds: journal.seconds }
  })
}

function proxied(broker: string, port: number): string {
  const url = new URL(broker)
  url.port = String(port)
  url.searchParams.set('heartbeat', String(HEARTBEAT_SECONDS))
  return url.href
}

/** As the adapter names it. */
function deadLettersOf(queue: string): string {
  return `${queue}.dead-letter`
}

/** Waits until the first worker has declared the queue. The broker returns messages sent earlier, which would count as sent. */
async function untilDeclared(url: string, queue: string, deadline: AbortSignal): Promise<void> {
  await using rabbit = await Rabbit.open(url)
  for (;;) {
    deadline.throwIfAborted()
    const isThere = await rabbit.ready(queue).then(
      () => true,
      () => false,
    )
    if (isThere) return
    await sleep(LOOK_EVERY_MS)
  }
}

/**
 * No message is ready, and none in the hands of a worker. All workers must be there, and no others: what the broker has not
 * yet taken back from a connection that is gone is neither, and its consumer still counts.
 */
async function untilDrained(url: string, queue: string, wire: WireTap, deadline: AbortSignal): Promise<void> {
  await using rabbit = await Rabbit.open(url)
  const isDrained = async (): Promise<boolean> => {
    const { messageCount, consumerCount } = await rabbit.ask((channel) => channel.checkQueue(queue))
    const areAllThere = consumerCount === WORKERS && wire.consuming === WORKERS
    return areAllThere && messageCount === 0 && wire.outstanding === 0
  }
  // Twice in a row: a message may be on its way from the broker.
  for (let times = 0; times < 2;) {
    deadline.throwIfAborted()
    times = (await isDrained()) ? times + 1 : 0
    await sleep(LOOK_EVERY_MS)
  }
}

/** Ready, and in the hands of workers. */
async function backlogOf(url: string, queue: string, wire: WireTap): Promise<number> {
  await using rabbit = await Rabbit.open(url)
  return (await rabbit.ready(queue)) + wire.outstanding
}

async function gatherQueues(url: string, queue: string): Promise<Pick<Evidence, 'left' | 'deadLetters'>> {
  await using rabbit = await Rabbit.open(url)
  const idsIn = async (name: string): Promise<readonly string[]> =>
    (await rabbit.takeLeft(name)).map(({ properties }) => String(properties.messageId))
  return { left: await idsIn(queue), deadLetters: await idsIn(deadLettersOf(queue)) }
}
