import { describeKafkaContract } from '../kafka/laws/source.ts'
import { platformaticOf } from '../kafka/client/platformatic.ts'

describeKafkaContract('@platformatic/kafka, classic', ({ brokers }, sockets) => platformaticOf(brokers, sockets))
describeKafkaContract(
  '@platformatic/kafka, KIP-848',
  ({ brokers }, sockets) => platformaticOf(brokers, sockets),
  'consumer',
)
