import { confirmedPublisher } from '../../../adapters/kafkajs/index.ts'
import { kafkajsClient } from '../../../adapters/kafkajs/client.ts'
import { Kafka, logLevel } from 'kafkajs'
import { describePublisher } from './laws.ts'

const kafkaOn = (brokers: readonly string[]): Kafka =>
  new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING, retry: { initialRetryTime: 50, retries: 5 } })

describePublisher('kafkajs', {
  publisherOn: (brokers) => confirmedPublisher(kafkaOn(brokers)),
  losingAnswers: (brokers, sends) => {
    const kafka = kafkaOn(brokers)
    const make = kafka.producer.bind(kafka)
    let left = sends
    kafka.producer = (config) => {
      const producer = make(config)
      const send = producer.send.bind(producer)
      producer.send = async (record) => {
        const answer = await send(record)
        if (left-- > 0) throw new Error('the connection was lost')
        return answer
      }
      return producer
    }
    return kafkajsClient(kafka)
  },
  timesWritten: (sends) => sends + 1,
})
