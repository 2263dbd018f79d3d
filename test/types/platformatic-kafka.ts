// The package as published fits what consume-once/platformatic-kafka takes of it.

import * as platformatic from '@platformatic/kafka'
import type { BaseOptions } from '@platformatic/kafka'
import {
  confirmedPublisher,
  kafkaSubscription,
  platformaticKafka,
  type BaseOptionsLike,
  type KafkaOptions,
  type PlatformaticLike,
} from 'consume-once/platformatic-kafka'

export const fits: PlatformaticLike = platformatic
const options: BaseOptions = { clientId: 'sms', bootstrapBrokers: ['localhost:9092'] }
export const fitsOptions: BaseOptionsLike = { ...options }
export const withSasl: unknown = platformaticKafka(platformatic, {
  clientId: 'sms',
  bootstrapBrokers: ['localhost:9092'],
  tls: {},
  sasl: { mechanism: 'PLAIN', username: 'u', password: 'p' },
})
// @ts-expect-error bootstrapBrokers is needed
export const without: unknown = platformaticKafka(platformatic, { clientId: 'sms' })
export const published: Promise<void> = confirmedPublisher(platformaticKafka(platformatic, { ...options })).publish({
  topic: 'sms',
  messageId: '1',
  value: 'v',
})

const [topics, group] = [['sms'], 'sms']
const kafka = platformaticKafka(platformatic, { ...options })
export const byKip848: unknown = kafkaSubscription(kafka, {
  topics,
  group,
  consumerConfig: { groupProtocol: 'consumer' },
})
// @ts-expect-error an option of kafkajs
export const withRack: unknown = kafkaSubscription(kafka, { topics, group, consumerConfig: { rackId: 'a' } })
/** What serves both clients fits: then the start refuses the options of kafkajs. */
export const ofBoth = (given: KafkaOptions): unknown => kafkaSubscription(kafka, given)
