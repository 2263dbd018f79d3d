import { cellsOf, type Guarantee } from './guarantee.ts'

const MODELS = ['park', 'park-full', 'park-three-workers', 'park-two-crashes', 'park-sent-twice'] as const
const FAULTS = 'F1 F2 F3 F4 F5 F7 F8 F14 F15 F17 F18 F19 F22 F23 F24'

export const PARK: Guarantee = {
  strategy: "`lease`, external effect without a key, `onInDoubt: 'park'`",
  claims: [
    {
      says: 'no, parked for a person',
      tests: ['T45', 'T46', 'T47', 'T48'],
      faults: cellsOf('lease-park', FAULTS),
      simulated: 'lease, park',
      models: [...MODELS, 'redrive-park', 'rerun-parked', 'loss-park', 'lane-park'],
    },
    {
      says: 'no',
      tests: ['T49', 'T50'],
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
      tests: ['T49', 'T51', 'T31'],
      faults: cellsOf('lease-park', FAULTS),
      simulated: 'lease, park',
      models: [...MODELS, 'lane-park'],
    },
  ],
  breaksWhen: [
    {
      says: 'a handler that throws although its effect happened (it must throw `OutcomeUnknownError`)',
      tests: ['T52', 'T45'],
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
