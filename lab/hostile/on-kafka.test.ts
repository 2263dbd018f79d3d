import { describe } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { describeCombination } from './combination.ts'
import { kafkaStage } from './stages/kafka.ts'
import { MEMORY, POSTGRES_INBOX, POSTGRES_OFFSETS } from './stores.ts'

const describeKafka = backends.has('kafka') ? describe : describe.skip

describeKafka('hostile inputs, brought by Kafka', () => {
  describeCombination({ store: MEMORY, carrier: 'kafka', openStage: kafkaStage })
  if (!backends.has('postgres')) return
  describeCombination({ store: POSTGRES_INBOX, carrier: 'kafka', openStage: kafkaStage })
  // A copy would have another position, so there are none: a failed message waits in its partition.
  describeCombination({
    store: POSTGRES_OFFSETS,
    carrier: 'kafka',
    openStage: () => kafkaStage({ retryTopic: false }),
  })
})
