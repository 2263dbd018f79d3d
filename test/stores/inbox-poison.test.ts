import { expect, it } from '@jest/globals'
import { defineConsumer, messageId, runInline, type Message, type Store } from '../../src/index.ts'
import { uniqueName } from '../kit/namespace.ts'
import { describeMariadb, newMysqlPlace } from '../mysql/support.ts'
import { describePostgres, newPlace } from '../pg/support.ts'
import { closedAfterEach } from '../kit/after-each.ts'

const closing = closedAfterEach()

interface Place<Tx> {
  readonly newInbox: () => Promise<Store<Tx>>
  readonly write: (tx: Tx, effect: string) => Promise<unknown>
  readonly committed: (effect: string) => Promise<number>
  readonly close: () => Promise<void>
}

/** Claimed together, in one transaction, with one that always fails. */
async function handleTogether<Tx>(place: Place<Tx>): Promise<void> {
  closing.push(place.close)
  const starts: string[] = []
  const consumer = defineConsumer<unknown, unknown, Tx>({
    name: 'consumer',
    id: messageId.header('id'),
    store: await place.newInbox(),
    maxAttempts: 2,
    backoff: { initialMs: 5, maxMs: 10 },
    handle: async ({ message, attempt, ...context }) => {
      const id = String(message.headers['id'])
      starts.push(`${id} ${attempt}`)
      if ('tx' in context) await place.write(context.tx as Tx, id)
      if (id === 'poison') throw new Error('as always')
    },
  })
  const running = runInline(consumer, { group: uniqueName('group') })
  closing.push(() => running.stop())
  await running.open()
  const settlements = await Promise.all(['a', 'poison', 'b'].map((id) => running.handle(messageOf(id))))
  expect(settlements.map(({ outcome, reason }) => [outcome, reason])).toEqual([
    ['handled', undefined],
    ['dead-lettered', 'attempts-spent'],
    ['handled', undefined],
  ])
  expect(await Promise.all(['a', 'poison', 'b'].map((id) => place.committed(id)))).toEqual([1, 0, 1])
  // What was rolled back with it ran again in the same attempt.
  expect(new Set(starts)).toEqual(new Set(['a 1', 'poison 1', 'b 1', 'poison 2']))
}

function messageOf(id: string): Message {
  const place = { destination: 'queue', origin: 'queue', position: '1' }
  return { system: 'rabbitmq', ...place, key: null, value: Buffer.from('{}'), headers: { id }, timestamp: undefined }
}

describePostgres('a message that fails in a transaction with others, on Postgres,', () => {
  // oxlint-disable-next-line jest/expect-expect -- handleTogether() expects
  it('is given up after its attempts, and each neighbour has one effect', async () => handleTogether(await newPlace()))
})

describeMariadb('a message that fails in a transaction with others, on MariaDB,', () => {
  // oxlint-disable-next-line jest/expect-expect -- handleTogether() expects
  it('is given up after its attempts, and each neighbour has one effect', async () =>
    handleTogether(await newMysqlPlace()))
})
