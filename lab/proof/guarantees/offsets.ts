import { cellsOf, type Guarantee } from './guarantee.ts'

export const OFFSETS: Guarantee = {
  strategy: "`offsets`: Kafka position in the effect's Postgres transaction",
  claims: [
    {
      says: 'no',
      tests: ['T34', 'T35', 'T36'],
      faults: cellsOf('offsets', 'F1 F4 F6 F10 F11 F18 F20 F22 F23 F24'),
      simulated: 'offsets',
      models: ['offsets-stored', 'offsets-stored-more-faults', 'offsets-begins-at-the-broker'],
      notShown:
        'A database that is set back to before the first position of a partition was stored: that loses what the group has committed since (`offsets-before-the-first-row`).',
    },
    {
      says: 'may start twice',
      tests: ['T37'],
      faults: ['F1.S3.offsets.*', 'F1.S4.offsets.*'],
      simulated: 'offsets',
    },
    {
      says: '**no** on redelivery',
      tests: ['T34', 'T38', 'T39', 'T40'],
      faults: cellsOf('offsets', 'F1 F4 F6 F10 F11 F18 F20 F22 F23 F24'),
      simulated: 'offsets',
      models: ['offsets-stored', 'offsets-stored-more-faults'],
    },
    {
      says: 'yes',
      tests: ['T41'],
    },
  ],
  breaksWhen: [
    {
      says: 'producer sent twice (then take `inbox`)',
      tests: ['T42'],
    },
  ],
}
