import { expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { server } from '../../test/kit/servers/server.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { describeMariadb, newMysqlPlace, type MysqlPlace } from '../../test/mysql/support.ts'
import { RabbitWorker, type CrashPoint, type WorkerMessage } from '../kit/mortal/worker.ts'

interface Ending {
  /** Outcome in the second process. */
  readonly outcome: string
  readonly effects: number
}

const OUTCOMES = ['handled', 'duplicate', 'dead-lettered', 'parked']

describeMariadb('a process that dies over a message of RabbitMQ, with its store on MariaDB', () => {
  let rabbit: Rabbit
  let place: MysqlPlace
  let mariadb: string
  beforeAllOpen(async (own) => {
    rabbit = own(await Rabbit.open())
    place = own(await newMysqlPlace())
    const url = new URL((await server('mariadb')).url)
    url.pathname = place.database
    mariadb = url.href
    // Its tables are there before two processes at once need them.
    await place.newInbox()
  })

  /** One message, processes that die while handling it, and one that continues. */
  async function live(
    strategy: 'inbox' | 'lease',
    deaths: readonly (CrashPoint | 'in the handler')[],
  ): Promise<Ending> {
    const [queue, id] = [rabbit.name(), uniqueName('id')]
    const message: WorkerMessage = deaths.includes('in the handler') ? { id, does: 'kill' } : { id }
    await rabbit.declare(queue)
    await rabbit.send(queue, [JSON.stringify(message)])
    const config = {
      url: rabbit.url,
      options: [{ queue }],
      store: { on: 'mariadb', strategy, url: mariadb } as const,
      maxAttempts: 2,
      leaseMs: 1_000,
    }
    const effects: string[] = []
    for (const dieAt of deaths) {
      await using mortal = new RabbitWorker(dieAt === 'in the handler' ? config : { ...config, dieAt })
      expect(await mortal.ended).toBe('SIGKILL')
      effects.push(...mortal.told('effect'))
    }
    await using last = new RabbitWorker(config)
    await last.until(() => OUTCOMES.some((outcome) => last.told(outcome).length > 0))
    effects.push(...last.told('effect'))
    const outcome = OUTCOMES.filter((one) => last.told(one).length > 0).join()
    await last.stop()
    return { outcome, effects: strategy === 'inbox' ? await place.committed(id) : effects.length }
  }

  it('between effect and mark: an inbox has one effect, a lease runs it again', async () => {
    const [inbox, lease] = await Promise.all([live('inbox', ['before the mark']), live('lease', ['before the mark'])])
    expect(inbox).toEqual({ outcome: 'handled', effects: 1 })
    expect(lease).toEqual({ outcome: 'handled', effects: 2 })
  }, 60_000)

  it('between mark and ack: the redelivery is a duplicate', async () => {
    const [inbox, lease] = await Promise.all([live('inbox', ['after the mark']), live('lease', ['after the mark'])])
    expect([inbox, lease]).toEqual([
      { outcome: 'duplicate', effects: 1 },
      { outcome: 'duplicate', effects: 1 },
    ])
  }, 60_000)

  it('each time: its attempts are counted all the same, and it is set aside', async () => {
    const deaths = ['in the handler', 'in the handler'] as const
    const [inbox, lease] = await Promise.all([live('inbox', deaths), live('lease', deaths)])
    expect(inbox).toEqual({ outcome: 'dead-lettered', effects: 0 })
    expect(lease).toEqual({ outcome: 'parked', effects: 0 })
  }, 60_000)
})
