// The package as published fits what consume-once/platformatic-kafka takes of it.

import * as platformatic from '@platformatic/kafka'
import type { BaseOptions } from '@platformatic/kafka'
import {
  confirmedPublisher,
  platformaticKafka,
  type BaseOptionsLike,
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
