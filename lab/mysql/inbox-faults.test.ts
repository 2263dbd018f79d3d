import { afterEach, beforeEach, it } from '@jest/globals'
import type { MysqlTransaction } from '../../adapters/mysql2/index.ts'
import { server } from '../../test/kit/servers/server.ts'
import { startFaultProxy } from '../../test/kit/fault-proxy.ts'
import { LOST_ANSWERS, losingEach, type InboxOnLink } from '../stores/inbox-lost-answers.ts'
import { describeMariadb, newMysqlPlace, type MysqlPlace } from '../../test/mysql/support.ts'

describeMariadb('mysqlInbox, when an answer is lost', () => {
  let place: MysqlPlace
  let onLink: InboxOnLink<MysqlTransaction>
  beforeEach(async () => {
    place = await newMysqlPlace()
    const url = new URL((await server('mariadb')).url)
    const link = await startFaultProxy(Number(url.port || 3306))
    url.hostname = '127.0.0.1'
    url.port = String(link.port)
    const pool = place.newPool({ uri: url.href, connectionLimit: 2 })
    const inbox = await place.newInbox({ pool, lockTimeoutMs: 1_000, queryTimeoutMs: 1_200 })
    onLink = { link, inbox, rival: await place.newInbox(), write: place.write, committed: place.committed }
  })
  afterEach(async () => {
    await onLink.link[Symbol.asyncDispose]()
    await place.close()
  })

  // oxlint-disable-next-line jest/expect-expect -- losingEach() expects
  it.each(LOST_ANSWERS)('%s, each of its requests %s', (_, fault, scene) => losingEach(onLink, fault, scene))
})
