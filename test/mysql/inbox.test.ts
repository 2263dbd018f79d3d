import { describe, it } from '@jest/globals'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import { lentPlaces } from '../kit/lent-places.ts'
import { describeMariadb, mysqlInboxHarness, newMysqlPlace } from './support.ts'

describeMariadb('mysqlInbox', () => {
  const places = lentPlaces(() => newMysqlPlace())
  describeStoreContract(
    'mysqlInbox',
    {
      strategy: 'inbox',
      createHarness: () => mysqlInboxHarness(places),
      lacks: { retention: 'a purge ends records' },
    },
    { describe, it },
  )
})
