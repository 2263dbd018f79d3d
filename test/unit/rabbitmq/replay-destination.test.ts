import { describe, expect, it } from '@jest/globals'
import { assert, constantFrom, property, string } from 'fast-check'
import { destinationIn, textOfDestination } from '../../../adapters/amqplib/replay/destination.ts'

describe('the text of a destination', () => {
  it.each([
    ['emails', { exchange: '', routingKey: 'emails' }],
    ['orders/eu.created', { exchange: 'orders', routingKey: 'eu.created' }],
    ['orders/', { exchange: 'orders', routingKey: '' }],
    ['orders/a/b%2F', { exchange: 'orders', routingKey: 'a/b%2F' }],
    ['tenant%2Femails', { exchange: '', routingKey: 'tenant/emails' }],
    ['100%25', { exchange: '', routingKey: '100%' }],
  ])('%s is read and written', (text, destination) => {
    expect(destinationIn(text)).toEqual(destination)
    expect(textOfDestination(destination)).toBe(text)
  })

  it('is another for each destination, and is read back as it was', () => {
    const name = string({ unit: constantFrom('a', '/', '%', '2', 'F', '5', '.') })
    assert(
      property(name, name, (exchange, routingKey) => {
        expect(destinationIn(textOfDestination({ exchange, routingKey }))).toEqual({ exchange, routingKey })
      }),
    )
  })
})
