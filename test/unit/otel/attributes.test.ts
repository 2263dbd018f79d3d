import { expect, it } from '@jest/globals'
import { attributesOfMessage } from '../../../adapters/otel/attributes.ts'
import type { Message } from '../../../src/internal.ts'

const at = (system: string, position: string): Message => ({
  system,
  destination: 'sms',
  origin: 'sms',
  position,
  key: null,
  value: null,
  headers: {},
})

it.each([
  ['kafka', '3@7', { 'messaging.destination.partition.id': '3', 'messaging.kafka.offset': 7 }],
  // The attributes of one broker are not those of another.
  ['pulsar', '3@7', { 'messaging.destination.partition.id': '3' }],
  ['nats', '7', {}],
])('a message of %s at %s has the attributes of its broker', (system, position, own) => {
  const common = { 'messaging.message.body.size': 0, 'messaging.consumer.group.name': 'g' }
  expect(attributesOfMessage(at(system, position), 'g')).toEqual({ ...common, ...own })
})
