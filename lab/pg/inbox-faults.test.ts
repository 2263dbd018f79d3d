import { afterEach, beforeEach, it } from '@jest/globals'
import type { PgTransaction } from '../../adapters/pg/index.ts'
import { server } from '../../test/kit/servers/server.ts'
import { startFaultProxy } from '../../test/kit/fault-proxy.ts'
import { LOST_ANSWERS, losingEach, type InboxOnLink } from '../stores/inbox-lost-answers.ts'
import { describePostgres, newPlace, type PgPlace } from '../../test/pg/support.ts'

describePostgres('postgresInbox, when an answer is lost', () => {
  let place: PgPlace
  let onLink: InboxOnLink<PgTransaction>
  beforeEach(async () => {
    place = await newPlace()
    const url = new URL((await server('postgres')).url)
    const link = await startFaultProxy(Number(url.port || 5432))
    url.hostname = '127.0.0.1'
    url.port = String(link.port)
    const pool = place.newPool({ connectionString: url.href, max: 2 })
    pool.on('error', () => {})
    const inbox = await place.newInbox({ pool, lockTimeoutMs: 100, queryTimeoutMs: 300 })
    onLink = { link, inbox, rival: await place.newInbox(), write: place.write, committed: place.committed }
  })
  afterEach(async () => {
    await onLink.link[Symbol.asyncDispose]()
    await place.close()
  })

  // oxlint-disable-next-line jest/expect-expect -- losingEach() expects
  it.each(LOST_ANSWERS)('%s, each of its requests %s', (_, fault, scene) => losingEach(onLink, fault, scene))
})
