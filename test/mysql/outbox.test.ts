import { expect, it } from '@jest/globals'
import { mysqlInbox, mysqlOutbox, type MysqlTransaction } from '../../adapters/mysql2/index.ts'
import { eventually } from '../kit/eventually.ts'
import { lentPlaces } from '../kit/lent-places.ts'
import { openedForEach } from '../kit/opened.ts'
import { Confirming } from '../kit/suites/outbox/confirming.ts'
import { itKeepsToTheLaws } from '../kit/suites/outbox/laws.ts'
import { OutboxUse } from '../kit/suites/outbox/use.ts'
import { describeMariadb, newMysqlPlace, type MysqlPlace } from './support.ts'

describeMariadb('the outbox of MySQL and MariaDB', () => {
  let place: MysqlPlace
  openedForEach(
    lentPlaces(() => newMysqlPlace()),
    (made) => (place = made),
  )
  const rows = async (): Promise<number> =>
    Number((await place.rows('select count(*) as n from consume_once_outbox'))[0]?.['n'])
  const use = new OutboxUse<MysqlTransaction>(() => ({
    outbox: (options) => mysqlOutbox({ pool: place.newPool(), ...options }),
    store: (outbox) => mysqlInbox({ pool: place.newPool({ connectionLimit: 8 }), ...(outbox && { outbox }) }),
    write: (tx, effect) => place.write(tx, effect),
    committed: (effect) => place.committed(effect),
    rows,
    age: () => place.rows('update consume_once_outbox set created_at = created_at - interval 1 hour'),
    due: async () =>
      Number((await place.rows('select count(*) as n from consume_once_outbox where not_before is null'))[0]?.['n']),
    pool: place.pool,
    transaction: async () => {
      const connection = await place.pool.getConnection()
      await connection.beginTransaction()
      const commit = async (): Promise<void> => {
        await connection.commit()
        connection.release()
      }
      return { tx: connection, commit }
    },
  }))
  itKeepsToTheLaws(use)

  it('has its lanes again when somebody has emptied all tables, at the next start', async () => {
    const kafka = new Confirming()
    await use.outbox(kafka).open()
    await place.rows('delete from consume_once_outbox_lane')
    const outbox = use.begin(use.outbox(kafka))
    await use.commit(outbox, { topic: 't', value: Buffer.from([0, 255]), key: Buffer.from([1]) })
    await eventually(async () => kafka.sent.length === 1)
    expect(kafka.sent[0]?.value).toEqual(Buffer.from([0, 255]))
  })
})
