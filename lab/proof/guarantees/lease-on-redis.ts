import { cellsOf, type Guarantee } from './guarantee.ts'

export const LEASE_ON_REDIS: Guarantee = {
  strategy: '`lease` on Redis',
  claims: [
    {
      says: 'no',
      tests: ['T1', 'T2', 'T301'],
      faults: cellsOf('lease-rerun', 'F1 F2 F3 F4 F5 F6 F7 F8 F9 F12 F13 F14 F15 F16 F17 F18 F19 F20 F21 F22 F23 F24'),
      simulated: 'lease, rerun',
      models: ['rerun', 'rerun-full', 'rerun-two-crashes', 'rerun-three-workers', 'redrive-rerun', 'liveness-drained'],
    },
    {
      says: 'after a crash, a pause longer than the lease, or being cut off from the store for longer than the lease',
      tests: ['T15', 'T16', 'T17', 'T18', 'T19'],
      faults: ['F1.S3.lease-rerun.*', 'F2.S3.lease-rerun.*', 'F15.blocks.lease-rerun.*', 'F18.*.lease-rerun.*'],
      simulated: 'lease, rerun',
      models: ['rerun-twice', 'rerun-twice-no-crash'],
    },
    {
      says: 'yes',
      faults: ['F1.S3.lease-rerun.*', 'F1.S4.lease-rerun.*'],
      notShown:
        'A database apart from a provider: a lease has no `ctx.tx`, so whatever its handler does is external to the mark; the cells count what a provider accepted.',
    },
    {
      says: 'yes',
      tests: ['T20'],
      faults: ['F1.S3.lease-rerun.*', 'F1.S4.lease-rerun.*', 'F2.S3.lease-rerun.*', 'F4.S3.lease-rerun.*'],
      simulated: 'lease, rerun',
      models: ['rerun-twice', 'rerun-twice-no-crash'],
    },
  ],
  breaksWhen: [
    {
      says: 'crash between effect and mark',
      faults: ['F1.S3.lease-rerun.*', 'F1.S4.lease-rerun.*', 'F1.crowd.lease-rerun.*'],
      models: ['rerun-twice'],
    },
    {
      says: 'pause > lease',
      tests: ['T21', 'T22'],
      faults: ['F2.S3.lease-rerun.*', 'F2.S4.lease-rerun.*', 'F2.crowd.lease-rerun.*'],
      models: ['rerun-twice-no-crash'],
    },
    {
      says: 'Redis loses the mark',
      tests: ['T23', 'T24'],
      faults: ['F9.S5-*.lease-rerun.*', 'F9.S6-*.lease-rerun.*', 'F9.S7-*.lease-rerun.*'],
    },
  ],
}
