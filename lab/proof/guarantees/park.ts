import { cellsOf, type Guarantee } from './guarantee.ts'

const IN_DOUBT = 'test/pipeline/in-doubt.test.ts'
const PARKED = 'is parked at once under park: written down, dead-lettered, settled'
const MODELS = ['park', 'park-full', 'park-three-workers', 'park-two-crashes', 'park-sent-twice'] as const
const FAULTS = 'F1 F2 F3 F4 F5 F7 F8 F14 F15 F17 F18 F19'

export const PARK: Guarantee = {
  strategy: "`lease`, external effect without a key, `onInDoubt: 'park'`",
  claims: [
    {
      says: 'no, parked for a person',
      tests: [
        [IN_DOUBT, PARKED],
        [IN_DOUBT, 'is never given up, only parked, when its attempts are spent'],
        ['testing/contract/store/lease-retention-laws.ts', 'keeps what is parked for ever'],
        ['test/unit/pipeline/set-aside.test.ts', 'keeps being parked when its parked record is met'],
      ],
      faults: cellsOf('lease-park', FAULTS),
      simulated: 'lease, park',
      models: [...MODELS, 'redrive-park', 'rerun-parked', 'loss-park', 'lane-park'],
    },
    {
      says: 'no',
      tests: [
        [IN_DOUBT, 'is parked without a handler under park'],
        ['test/unit/pipeline/timeouts.test.ts', 'is parked under park, and its late mark is written over that'],
      ],
      faults: [
        'F1.S3.lease-park.*',
        'F2.S3.lease-park.*',
        'F4.S3.lease-park.*',
        'F15.hangs.lease-park.*',
        'F18.*.lease-park.*',
      ],
      simulated: 'lease, park',
    },
    { says: '–' },
    {
      says: '**no**',
      tests: [
        [IN_DOUBT, 'is parked without a handler under park'],
        ['lab/demo/contract.ts', 'killed at %s, loses nothing and has no effect twice'],
        ['lab/pg/lease-crash.test.ts', 'ends as its policy says: %s'],
      ],
      faults: cellsOf('lease-park', FAULTS),
      simulated: 'lease, park',
      models: [...MODELS, 'lane-park'],
    },
  ],
  breaksWhen: [
    {
      says: 'a handler that throws although its effect happened (it must throw `OutcomeUnknownError`)',
      tests: [
        [IN_DOUBT, 'has its effect twice where its handler throws something else after it'],
        [IN_DOUBT, PARKED],
      ],
    },
    {
      says: 'the store loses the record, or retention ends before the last redelivery',
      faults: ['F9.*-emptied.lease-park.*', 'F9.*-flushed.lease-park.*', 'F16.over.lease-park.*'],
      models: ['loss-park-twice'],
    },
    {
      says: 'a person reruns a parked message whose old handler still runs',
      models: ['rerun-parked-twice'],
      notShown: 'The same on servers: the search finds it in the protocol itself.',
    },
  ],
}
