import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { lockRow } from '../../adapters/guards/index.ts'
import { describeHistories } from '../kit/suites/guard-histories.ts'
import { describeGuards, newId, type GuardRig } from '../kit/suites/guards.ts'
import { newMysqlGuardRig } from './guards-rig.ts'
import { describeMariadb } from './support.ts'

describeMariadb('guards on MariaDB', () => {
  describeGuards(() => newMysqlGuardRig([]))
  describeHistories(() => newMysqlGuardRig([]), 500)
})

describeMariadb('guards on MariaDB, where affected rows are those that changed', () => {
  describeGuards(() => newMysqlGuardRig(['-FOUND_ROWS']))
})

describeMariadb('a wait of lockRow that ends with an error', () => {
  let rig: GuardRig
  beforeAll(async () => {
    rig = await newMysqlGuardRig([])
  })
  afterAll(() => rig.close())

  it('leaves the lock wait of the session as it was', async () => {
    const [holder, waiter] = [await rig.session(), await rig.session()]
    const id = newId()
    await holder.run(`insert into orders (id, status) values ('${id}', 'created')`)
    await holder.run('begin')
    await lockRow(holder.tx, { table: 'orders', key: { id } })
    await waiter.run('set session innodb_lock_wait_timeout = 7')
    await waiter.run('begin')
    const [self] = await waiter.run('select connection_id() as id')

    const waiting = lockRow(waiter.tx, { table: 'orders', key: { id }, waitMs: 60_000 })
    const failure = waiting.catch((error: unknown) => error)
    await rig.waiting()
    await holder.run(`kill query ${String(self?.['id'])}`)
    expect(await failure).toMatchObject({ code: 'ER_QUERY_INTERRUPTED' })
    const [settings] = await waiter.run('select @@session.innodb_lock_wait_timeout as seconds')
    expect(settings).toEqual({ seconds: 7 })
    await waiter.end('rollback')
    await holder.end('rollback')
  })
})
