import { describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { beforeAllOpen, beforeEachOpen } from '../../test/kit/opened.ts'
import { onMariadb, onPostgres, type OutboxDatabase } from './database.ts'
import { BrokerFile, RelayProcess, type ProgramSpec } from './relay-process.ts'

const DATABASES = [
  ['postgres', onPostgres],
  ['mariadb', onMariadb],
] as const

describe.each(DATABASES.filter(([name]) => backends.has(name)))('relays that die and freeze, on %s', (_, open) => {
  let database: OutboxDatabase
  let broker: BrokerFile

  beforeAllOpen(async (own) => (database = own(await open())))
  beforeEachOpen((own) => (broker = own(new BrokerFile())))

  const start = (more: Partial<ProgramSpec> = {}): RelayProcess =>
    new RelayProcess({ ...database.spec, file: broker.path, publishMs: 0, ...more })
  const untilDrained = (): Promise<void> => eventually(async () => (await database.rows()) === 0)
  const first = { topic: 't', key: 'k', value: 'k 0', messageId: 'id-0' }

  it('publish nothing of a transaction whose process was killed before its COMMIT', async () => {
    await using writer = start({ dieAt: 'before commit' })
    expect(await writer.ended()).toBe('SIGKILL')
    expect(await database.rows()).toBe(0)
  })

  it('publish what was committed by a process that was killed after that', async () => {
    await using writer = start({ dieAt: 'after commit' })
    expect(await writer.ended()).toBe('SIGKILL')
    await using relay = start()
    await relay.untilStarted()
    await untilDrained()
    expect(broker.taken).toEqual([{ id: 'id-0', key: 'k', n: 0 }])
  })

  // What the process removes before it has sent it would be lost here: https://github.com/MassTransit/MassTransit/issues/6145
  it.each(['after publish', 'after confirm'] as const)(
    'publish again, under the same ID, what one was killed over %s',
    async (dieAt) => {
      await database.commit(first)
      await using relay = start({ dieAt })
      expect(await relay.ended()).toBe('SIGKILL')
      expect(broker.taken).toHaveLength(1)
      expect(await database.rows()).toBe(1)
      await using next = start()
      await next.untilStarted()
      await untilDrained()
      expect(broker.taken.map(({ id }) => id)).toEqual(['id-0', 'id-0'])
    },
  )

  // Several instances keep the order of a key: https://github.com/gruelbox/transaction-outbox/issues/198
  it.each(['keeps its lanes', 'loses its connections'] as const)(
    'keep the order of each key and lose nothing when one is frozen past another and %s',
    async (how) => {
      const [keys, count] = [9, 900]
      const write = async (from: number, to: number): Promise<void> => {
        for (let at = from; at < to; at += 30) {
          const messages = Array.from({ length: 30 }, (__, n) => ({
            topic: 't',
            key: `k${(at + n) % keys}`,
            value: `k${(at + n) % keys} ${at + n}`,
            messageId: `id-${at + n}`,
          }))
          await database.commit(messages)
        }
      }
      await write(0, 300)
      await using frozen = start({ publishMs: 5 })
      await eventually(() => broker.taken.length > 20)
      frozen.freeze()
      const connections = await database.connections()
      await using other = start({ publishMs: 1 })
      await other.untilStarted()
      await write(300, 600)
      if (how === 'loses its connections') {
        await database.end(connections)
        await untilDrained()
      }
      frozen.thaw()
      await write(600, count)
      await untilDrained()
      expect(broker.wrong(count)).toEqual([])
    },
    60_000,
  )
})
