import * as platformatic from '@platformatic/kafka'
import { platformaticClient } from '../../adapters/platformatic-kafka/client.ts'
import { confirmedPublisher } from '../../adapters/platformatic-kafka/index.ts'
import { describePublisher } from '../kafka/publishing/laws.ts'
import { platformaticOf } from '../kafka/client/platformatic.ts'

type Callback = (error: Error | null, answer: unknown) => void
type Produce = ((connection: unknown, ...given: unknown[]) => void) & { readonly version: number }

describePublisher('@platformatic/kafka', {
  publisherOn: (brokers) => confirmedPublisher(platformaticOf(brokers)),
  losingAnswers: (brokers, sends) => {
    let left = sends
    const losing = (produce: Produce): Produce =>
      Object.assign(
        (connection: unknown, ...given: unknown[]) => {
          const answered = given.pop() as Callback
          produce(connection, ...given, (error: Error | null, answer: unknown) =>
            left-- > 0 ? answered(new Error('the connection was lost'), undefined) : answered(error, answer),
          )
        },
        { version: produce.version },
      )
    const produces = Object.entries(platformatic).flatMap(([name, module]) =>
      /^produceV\d+$/.test(name) ? [[name, { ...module, api: losing((module as { readonly api: Produce }).api) }]] : [],
    )
    const options = { clientId: 'test', bootstrapBrokers: [...brokers] }
    return platformaticClient({ ...platformatic, ...Object.fromEntries(produces) }, options)
  },
  timesWritten: () => 1,
})
