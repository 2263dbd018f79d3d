import { cellsOf, type Guarantee } from './guarantee.ts'

const ON_KAFKA = 'lab/kafka/offsets-strategy.test.ts'
const ENDS = '%s has one effect, or none and a dead letter, and what follows is handled'

export const OFFSETS: Guarantee = {
  strategy: "`offsets`: Kafka position in the effect's Postgres transaction",
  claims: [
    {
      says: 'no',
      tests: [
        [ON_KAFKA, ENDS],
        [ON_KAFKA, 'heal a database that was restored under a consumer that runs'],
        [
          'test/pipeline/offsets-chaos.test.ts',
          'have each message over once, in order: handled, or dead-lettered with a confirm (seed %i)',
        ],
      ],
      faults: cellsOf('offsets', 'F1 F4 F6 F10 F11 F18 F20'),
      simulated: 'offsets',
      models: ['offsets-stored', 'offsets-stored-more-faults', 'offsets-begins-at-the-broker'],
      notShown:
        'A database that is set back to before the first position of a partition was stored: that loses what the group has committed since (`offsets-before-the-first-row`).',
    },
    {
      says: 'may start twice',
      tests: [
        [
          'test/unit/pipeline/offsets.test.ts',
          'stay where they are when a handler fails, which is tried again before anything behind it',
        ],
      ],
      faults: ['F1.S3.offsets.*', 'F1.S4.offsets.*'],
      simulated: 'offsets',
    },
    {
      says: '**no** on redelivery',
      tests: [
        [ON_KAFKA, ENDS],
        [ON_KAFKA, 'resolves a COMMIT whose answer was lost'],
        [ON_KAFKA, 'has one effect of each message with another that believes to own its partition'],
        [
          'testing/contract/store/offsets-laws.ts',
          'has one effect of each message, in order, however many believe to own the stream',
        ],
      ],
      faults: cellsOf('offsets', 'F1 F4 F6 F10 F11 F18 F20'),
      simulated: 'offsets',
      models: ['offsets-stored', 'offsets-stored-more-faults'],
    },
    {
      says: 'yes',
      tests: [
        [
          'test/unit/pipeline/offsets.test.ts',
          'have the effect once that moves with them, and as often as its handler starts what is done outside',
        ],
      ],
    },
  ],
  breaksWhen: [
    {
      says: 'producer sent twice (then take `inbox`)',
      tests: [[ON_KAFKA, 'has the effect again of what its producer sends again, which is another offset']],
    },
  ],
}
