import { beforeAll, describe, it } from '@jest/globals'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import { numberedHarness, numberedInboxHarness, oneSource, ownSources } from '../../test/contract/numbered-keys.ts'
import { backends } from '../../test/kit/backends.ts'
import { server, SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { pgLeaseHarness } from '../../test/pg/lease-harness.ts'
import { lentPlaces } from '../../test/kit/lent-places.ts'
import { inboxSequencesHarness, newPlace } from '../../test/pg/support.ts'
import { LIBRARIES } from '../../test/redis/clients.ts'
import { REDIS_LACKS, redisHarness } from '../../test/redis/harness.ts'

// The whole contract of leases, and of inboxes: a minute for each store. Tests specific to sequences are in test/redis and test/pg.

const loss = 'what it has lost, its source still knows'
const retention =
  'a number is remembered as long as its source: some milliseconds longer than its record, and any mark prolongs it'

const describeOnRedis = backends.has('redis') ? describe : describe.skip
const describeOnPostgres = backends.has('postgres') ? describe : describe.skip

describeOnRedis.each(LIBRARIES)('redisSequences by $name on one server', (library) => {
  let url = ''
  beforeAll(async () => {
    url = (await server('redis')).url
  }, SERVER_WITHIN_MS)

  describeStoreContract(
    'redisSequences with a source for each message',
    {
      strategy: 'lease',
      createHarness: async () => numberedHarness(await redisHarness(url, { library, sequences: {} }), ownSources()),
      lacks: { loss, retention, ...REDIS_LACKS },
    },
    { describe, it },
  )

  describeStoreContract(
    'redisSequences with one source',
    {
      strategy: 'lease',
      createHarness: async () =>
        numberedHarness(await redisHarness(url, { library, sequences: { tail: 10_000 } }), oneSource()),
      lacks: { loss, retention, ...REDIS_LACKS },
    },
    { describe, it },
  )
})

describeOnPostgres('postgresSequences', () => {
  describeStoreContract(
    'postgresSequences with a source for each message',
    {
      strategy: 'lease',
      createHarness: async () => numberedHarness(await pgLeaseHarness({}, {}), ownSources()),
      lacks: { loss, retention },
    },
    { describe, it },
  )
})

describeOnPostgres('postgresInboxSequences', () => {
  const places = lentPlaces(() => newPlace())
  describe.each([
    ['a source for each message', ownSources],
    ['one source', oneSource],
  ] as const)('%s', (name, numbering) => {
    describeStoreContract(
      `postgresInboxSequences with ${name}`,
      {
        strategy: 'inbox',
        createHarness: async () =>
          numberedInboxHarness(await inboxSequencesHarness({ tail: 10_000 }, places), numbering()),
        lacks: { retention: 'a purge ends records' },
      },
      { describe, it },
    )
  })
})
