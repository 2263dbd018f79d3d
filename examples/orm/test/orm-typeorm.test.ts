import { DataSource, EntitySchema, type EntityManager } from 'typeorm'
import { pgClient, type PgTransaction } from '../../../adapters/pg/index.ts'
import { server } from '../../../test/kit/servers/server.ts'
import { describeOrm, type Charge, type OrmTransaction } from './orm.ts'

describeOrm('TypeORM', async ({ schema }) => {
  const charge = new EntitySchema<Charge & { id: number }>({
    name: 'charge',
    schema,
    columns: {
      id: { type: 'int', primary: true, generated: true },
      payment: { type: 'text' },
      cents: { type: 'int', default: 1250 },
      at: { type: 'timestamptz', createDate: true },
    },
  })
  const dataSource = new DataSource({ type: 'postgres', url: (await server('postgres')).url, entities: [charge] })
  await dataSource.initialize()
  const over = (tx: PgTransaction): EntityManager => {
    const runner = dataSource.createQueryRunner()
    runner.connect = async () => pgClient(tx)
    return runner.manager
  }
  const within = (manager: EntityManager): OrmTransaction => ({
    insert: (payment) => manager.insert(charge, { payment }),
    nested: (work) => manager.transaction((inner) => work(within(inner))),
  })
  return {
    insert: (tx, payment) => over(tx).save(charge, { payment }),
    all: (tx) => over(tx).find(charge, { order: { id: 'asc' } }),
    setCents: async (tx, cents) => (await over(tx).updateAll(charge, { cents })).affected ?? 0,
    stall: (tx, seconds) => over(tx).query('select pg_sleep($1)', [seconds]),
    transaction: (tx, work) => over(tx).transaction((manager) => work(within(manager))),
    serializable: (tx, work) => over(tx).transaction('SERIALIZABLE', (manager) => work(within(manager))),
    close: () => dataSource.destroy(),
  }
})
