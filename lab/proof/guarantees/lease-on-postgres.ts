import { cellsOf, type Guarantee } from './guarantee.ts'

export const LEASE_ON_POSTGRES: Guarantee = {
  strategy: '`lease` on Postgres',
  claims: [
    {
      says: 'no',
      tests: ['T31', 'T32'],
      faults: cellsOf('lease-postgres', 'F1 F4 F10 F18 F19 F22 F23'),
      simulated: 'lease, rerun',
      models: ['rerun', 'rerun-full', 'rerun-two-crashes', 'rerun-three-workers'],
    },
    {
      says: 'as on Redis',
      tests: ['T31', 'T22', 'T17'],
      faults: ['F1.S3.lease-postgres.*', 'F1.S4.lease-postgres.*', 'F18.*.lease-postgres.*'],
      simulated: 'lease, rerun',
    },
    {
      says: 'yes',
      faults: ['F1.S3.lease-postgres.*', 'F1.S4.lease-postgres.*'],
      notShown: 'A database apart from a provider: a lease has no `ctx.tx`, also where its records are in Postgres.',
    },
    {
      says: 'yes',
      tests: ['T31'],
      faults: ['F1.S3.lease-postgres.*', 'F1.S4.lease-postgres.*', 'F4.S3.lease-postgres.*'],
      simulated: 'lease, rerun',
      models: ['rerun-twice'],
    },
  ],
  breaksWhen: [
    {
      says: 'crash between effect and mark',
      tests: ['T31'],
      faults: ['F1.S3.lease-postgres.*', 'F1.S4.lease-postgres.*'],
      models: ['rerun-twice'],
    },
    { says: 'pause > lease', tests: ['T22'], models: ['rerun-twice-no-crash'] },
    {
      says: 'failover to an asynchronous replica loses the mark',
      tests: ['T33'],
      notShown: 'The failover itself under a lease: it is done to `inbox` and `offsets`.',
    },
  ],
}
