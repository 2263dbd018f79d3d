import { it } from '@jest/globals'
import { beforeEachOpen } from '../../test/kit/opened.ts'
import type { MysqlTransaction } from '../../adapters/mysql2/index.ts'
import { server } from '../../test/kit/servers/server.ts'
import { startProxyOf } from '../../test/kit/fault-proxy.ts'
import { LOST_ANSWERS, losingEach, type InboxOnLink } from '../stores/inbox-lost-answers.ts'
import { describeMariadb, newMysqlPlace, type MysqlPlace } from '../../test/mysql/support.ts'

describeMariadb('mysqlInbox, when an answer is lost', () => {
  let place: MysqlPlace
  let onLink: InboxOnLink<MysqlTransaction>
  beforeEachOpen(async (own) => {
    place = own(await newMysqlPlace())
    const link = own(await startProxyOf((await server('mariadb')).url, 3306))
    const pool = place.newPool({ uri: link.url, connectionLimit: 2 })
    const inbox = await place.newInbox({ pool, lockTimeoutMs: 1_000, queryTimeoutMs: 1_200 })
    onLink = { link, inbox, rival: await place.newInbox(), write: place.write, committed: place.committed }
  })

  // oxlint-disable-next-line jest/expect-expect -- losingEach() expects
  it.each(LOST_ANSWERS)('%s, each of its requests %s', (_, fault, scene) => losingEach(onLink, fault, scene))
})
