import { cellsOf, type Guarantee } from './guarantee.ts'

const FAULTS = 'F1 F2 F3 F4 F5 F6 F7 F10 F12 F13 F14 F15 F17 F18 F19 F20 F21 F22 F23 F24'

export const INBOX: Guarantee = {
  strategy: '`inbox`: effect and mark in one Postgres transaction',
  claims: [
    {
      says: 'no',
      tests: ['T1', 'T2', 'T3', 'T4', 'T5', 'T301'],
      faults: cellsOf('inbox', FAULTS),
      simulated: 'inbox',
      models: ['inbox', 'inbox-full', 'inbox-three-workers', 'redrive-inbox', 'flush-ticker', 'liveness-drained'],
    },
    {
      says: 'may start twice',
      tests: ['T6'],
      faults: ['F1.S3.inbox.*', 'F1.S4.inbox.*', 'F15.throws.inbox.*'],
      simulated: 'inbox',
    },
    {
      says: '**no**',
      tests: ['T7', 'T8', 'T9', 'T10', 'T11'],
      faults: cellsOf('inbox', `${FAULTS} F16`),
      simulated: 'inbox',
      models: ['inbox', 'inbox-full', 'inbox-three-workers', 'lane-inbox'],
    },
    {
      says: 'yes',
      tests: ['T12'],
    },
  ],
  breaksWhen: [
    {
      says: 'row purged before the last redelivery',
      tests: ['T13'],
      models: ['inbox-row-lost'],
    },
    {
      says: 'effect outside `tx`',
      tests: ['T14'],
    },
    {
      says: 'failover to an asynchronous replica loses mark and effect together, after the settle',
      faults: ['F11.S6.inbox.*', 'F11.S7.inbox.*'],
    },
  ],
}
