import { describe } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { startPrivateMariadb } from '../../test/kit/servers/private-mariadb.ts'
import type { PrivateInstance } from '../../test/kit/servers/private-instance.ts'
import { describeHistories } from '../../test/kit/suites/guard-histories.ts'
import { describeGuards, type GuardRig } from '../../test/kit/suites/guards.ts'
import { newMysqlGuardRig } from '../../test/mysql/guards-rig.ts'

/** Unpacked the first time. */
const MYSQL_WITHIN_MS = 600_000

describe('guards on MySQL 9', () => {
  let mysql: (PrivateInstance & { readonly url: string }) | undefined
  beforeAllOpen(async (own) => (mysql = own(await startPrivateMariadb({ version: 'mysql-9' }))), MYSQL_WITHIN_MS)

  const rigWith = (flags: string[]) => (): Promise<GuardRig> => newMysqlGuardRig(flags, mysql?.url)

  describe('with the flags of mysql2', () => {
    describeGuards(rigWith([]))
    describeHistories(rigWith([]), 300)
  })

  describe('where affected rows are those that changed', () => {
    describeGuards(rigWith(['-FOUND_ROWS']))
  })
})
