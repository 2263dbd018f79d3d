import { it } from '@jest/globals'
import { beforeEachOpen } from '../../test/kit/opened.ts'
import { server } from '../../test/kit/servers/server.ts'
import { startProxyOf } from '../../test/kit/fault-proxy.ts'
import { mysqlLeaseHarness, type MysqlLeaseHarness } from '../../test/mysql/lease-harness.ts'
import { describeMariadb } from '../../test/mysql/support.ts'
import { LOST_ANSWERS, losingEach, type LeaseOnLink } from '../stores/lease-lost-answers.ts'

describeMariadb('mysqlLease, when an answer is lost', () => {
  let harness: MysqlLeaseHarness
  let onLink: LeaseOnLink
  beforeEachOpen(async (own) => {
    harness = own(await mysqlLeaseHarness())
    const { place, newLease, store: before, forget = async () => {} } = harness
    const link = own(await startProxyOf((await server('mariadb')).url, 3306))
    const pool = place.newPool({ uri: link.url, connectionLimit: 2 })
    const store = await newLease({ pool, lockTimeoutMs: 1_000, queryTimeoutMs: 1_200 })
    const audit = (): Promise<readonly unknown[]> =>
      place.rows('select decision, by_whom, reason from consume_once_audit order by at')
    onLink = { link, store, before, forget, audit }
  })

  // oxlint-disable-next-line jest/expect-expect -- losingEach() expects
  it.each(LOST_ANSWERS)('does what it was asked for once: %s, each of its requests %s', async (name, fault) =>
    losingEach(onLink, name, fault),
  )
})
