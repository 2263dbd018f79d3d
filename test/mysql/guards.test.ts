import { describeHistories } from '../stores/guard-histories.ts'
import { describeGuards } from '../stores/guards.ts'
import { newMysqlGuardRig } from './guards-rig.ts'
import { describeMariadb } from './support.ts'

describeMariadb('guards on MariaDB', () => {
  describeGuards(() => newMysqlGuardRig([]))
  describeHistories(() => newMysqlGuardRig([]), 500)
})

describeMariadb('guards on MariaDB, where affected rows are those that changed', () => {
  describeGuards(() => newMysqlGuardRig(['-FOUND_ROWS']))
})
