import { describeHistories } from '../kit/suites/guard-histories.ts'
import { describeGuards } from '../kit/suites/guards.ts'
import { newPgGuardRig } from './guards-rig.ts'
import { describePostgres } from './support.ts'

describePostgres('guards on Postgres', () => {
  describeGuards(newPgGuardRig)
  describeHistories(newPgGuardRig, 500)
})
