import { describe, it } from '@jest/globals'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import { MapStore, mapHarness, rightStep, type Step } from './map-store.ts'

/** Answers a duplicate without the time of its mark. */
const untimed: Step = (record, command, now) => {
  const { next, verdict } = rightStep(record, command, now)
  if (typeof verdict !== 'object' || verdict.verdict !== 'done') return { next, verdict }
  const { since: _since, ...told } = verdict
  return { next, verdict: told }
}

describeStoreContract(
  'a store that does not know when it marked',
  {
    strategy: 'lease',
    createHarness: async () => mapHarness(new MapStore(untimed)),
    lacks: { 'mark-times': 'it keeps no time with a mark' },
  },
  { describe, it },
)
