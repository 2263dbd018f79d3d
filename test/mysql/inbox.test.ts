import { describe, it } from '@jest/globals'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import { describeMariadb, mysqlInboxHarness } from './support.ts'

describeMariadb('mysqlInbox', () => {
  describeStoreContract(
    'mysqlInbox',
    {
      strategy: 'inbox',
      createHarness: mysqlInboxHarness,
      lacks: { retention: 'a purge ends records' },
    },
    { describe, it },
  )
})
