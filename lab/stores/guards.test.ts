import { describeMariadb } from '../../test/mysql/support.ts'
import { newMysqlGuardRig } from '../../test/mysql/guards-rig.ts'
import { newPgGuardRig } from '../../test/pg/guards-rig.ts'
import { describePostgres } from '../../test/pg/support.ts'
import { describeHistories } from '../../test/kit/suites/guard-histories.ts'

const HISTORIES = 10_000

describePostgres('advanceState on Postgres', () => {
  describeHistories(newPgGuardRig, HISTORIES)
})

describeMariadb('advanceState on MariaDB', () => {
  describeHistories(() => newMysqlGuardRig([]), HISTORIES)
})
