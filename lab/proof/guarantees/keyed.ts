import { cellsOf, type Guarantee } from './guarantee.ts'

const FAULTS = cellsOf('lease-keyed', 'F1 F2 F3 F4 F5 F6 F7 F8 F9 F12 F13 F14 F15 F16 F17 F18 F22 F23 F24')

export const KEYED: Guarantee = {
  strategy: 'any, effect carries `ctx.idempotencyKey` to a provider that dedups on it',
  claims: [
    { says: 'no', faults: FAULTS, simulated: 'lease, keyed', models: ['keyed', 'loss-keyed', 'lane-keyed'] },
    {
      says: 'yes',
      faults: ['F1.S3.lease-keyed.*', 'F2.S3.lease-keyed.*', 'F4.S3.lease-keyed.*'],
      simulated: 'lease, keyed',
    },
    { says: '–' },
    {
      says: '**no**',
      tests: ['T43', 'T44'],
      faults: FAULTS,
      simulated: 'lease, keyed',
      models: ['keyed', 'loss-keyed', 'lane-keyed'],
      notShown:
        'Provider and key under `inbox`, `offsets` and leases in Postgres: the cells are of leases in Redis. What a provider is handed is the same everywhere.',
    },
  ],
  breaksWhen: [
    {
      says: 'the shorter of the two retention windows',
      faults: ['F16.over.lease-keyed.*'],
      notShown:
        'A provider that forgets a key: ours never does, so that where the mark is forgotten first, it alone refuses the second call.',
    },
  ],
}
