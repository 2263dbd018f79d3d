import { describeKafkaContract } from '../../test/kafka/laws/source.ts'
import { hasKip848 } from '../../test/kit/servers/kafka/version.ts'
import { platformaticOf } from '../../test/kafka/client/platformatic.ts'

describeKafkaContract('@platformatic/kafka, classic', ({ brokers }, sockets) => platformaticOf(brokers, sockets))
if (hasKip848()) {
  describeKafkaContract(
    '@platformatic/kafka, KIP-848',
    ({ brokers }, sockets) => platformaticOf(brokers, sockets),
    'consumer',
  )
}
