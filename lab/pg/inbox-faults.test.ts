import { it } from '@jest/globals'
import { beforeEachOpen } from '../../test/kit/opened.ts'
import type { PgTransaction } from '../../adapters/pg/index.ts'
import { server } from '../../test/kit/servers/server.ts'
import { startProxyOf } from '../../test/kit/fault-proxy.ts'
import { LOST_ANSWERS, losingEach, type InboxOnLink } from '../stores/inbox-lost-answers.ts'
import { describePostgres, newPlace, type PgPlace } from '../../test/pg/support.ts'

describePostgres('postgresInbox, when an answer is lost', () => {
  let place: PgPlace
  let onLink: InboxOnLink<PgTransaction>
  beforeEachOpen(async (own) => {
    place = own(await newPlace())
    const link = own(await startProxyOf((await server('postgres')).url, 5432))
    const pool = place.newPool({ connectionString: link.url, max: 2 })
    pool.on('error', () => {})
    const inbox = await place.newInbox({ pool, lockTimeoutMs: 100, queryTimeoutMs: 300 })
    onLink = { link, inbox, rival: await place.newInbox(), write: place.write, committed: place.committed }
  })

  // oxlint-disable-next-line jest/expect-expect -- losingEach() expects
  it.each(LOST_ANSWERS)('%s, each of its requests %s', (_, fault, scene) => losingEach(onLink, fault, scene))
})
