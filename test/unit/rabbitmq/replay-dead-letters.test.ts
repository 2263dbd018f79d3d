import { describe, expect, it } from '@jest/globals'
import { deadLetterIn } from '../../../adapters/amqplib/replay/dead-letter-facts.ts'

const AT = '2026-11-01T10:00:00.000Z'
const OWN = {
  'consume-once-reason': 'attempts-spent',
  'consume-once-dead-lettered-at': AT,
  'consume-once-consumer': 'mailer',
  'consume-once-origin-queue': 'emails',
  'consume-once-origin-exchange': 'mail',
  'consume-once-origin-routing-key': 'eu',
}

function death(queue: string, reason: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  const time = { '!': 'timestamp', value: 1_793_527_200 }
  return { queue, reason, exchange: 'mail', 'routing-keys': ['eu'], count: 1, time, ...more }
}

describe('what the headers of a dead letter tell', () => {
  it('is what this library wrote, whatever the broker added', () => {
    const deadLetter = deadLetterIn({ ...OWN, 'consume-once-parked': true, 'x-death': [death('other', 'expired')] })
    expect(deadLetter?.facts).toEqual({
      reason: 'attempts-spent',
      parked: true,
      since: Date.parse(AT),
      consumer: 'mailer',
      group: 'emails',
      destination: 'emails',
    })
  })

  it('prefers the time when the record was set aside', () => {
    const setAside = '2026-10-01T00:00:00.000Z'
    expect(deadLetterIn({ ...OWN, 'consume-once-set-aside-at': setAside })?.facts.since).toBe(Date.parse(setAside))
    expect(deadLetterIn({ ...OWN, 'consume-once-dead-lettered-at': 'yesterday' })?.facts.since).toBeUndefined()
  })

  it('is the first queue in which it died, and the latest reason, when the broker moved it', () => {
    const headers = {
      'x-death': [death('emails.wait', 'expired', { exchange: '' }), death('emails', 'rejected')],
      'x-first-death-queue': 'emails',
    }
    expect(deadLetterIn(headers)).toEqual({
      by: 'broker',
      facts: {
        reason: 'expired',
        parked: false,
        since: 1_793_527_200_000,
        consumer: undefined,
        group: undefined,
        destination: 'emails',
      },
      first: { queue: 'emails', exchange: 'mail', routingKey: 'eu' },
    })
  })

  it('is the earliest death if no header names the first queue', () => {
    const deadLetter = deadLetterIn({ 'x-death': [death('b', 'expired'), death('a/b', 'rejected')] })
    expect(deadLetter?.facts.destination).toBe('a%2Fb')
  })

  it('is the exchange and routing key of Spring, or its queue', () => {
    const spring = { 'x-exception-message': 'no', 'x-original-exchange': 'mail', 'x-original-routingKey': 'eu.new' }
    expect(deadLetterIn(spring)?.facts).toMatchObject({ reason: undefined, destination: 'mail/eu.new' })
    expect(deadLetterIn({ ...spring, 'x-original-exchange': '' })?.facts.destination).toBe('eu.new')
  })

  it('is nothing for a message that is no dead letter', () => {
    expect(deadLetterIn({})).toBeUndefined()
    expect(deadLetterIn({ tenant: 'a' })).toBeUndefined()
  })

  it('is nothing for a delayed copy that came back to its queue', () => {
    const copy = { 'consume-once-delay-queue': 'emails.retry.1000', 'consume-once-origin-queue': 'emails' }
    expect(deadLetterIn({ ...copy, 'x-death': [death('emails.retry.1000', 'expired')] })).toBeUndefined()
    const rejectedLater = [death('emails', 'rejected'), death('emails.retry.1000', 'expired')]
    const deadLetter = deadLetterIn({ ...copy, 'x-death': rejectedLater, 'x-first-death-queue': 'emails.retry.1000' })
    expect(deadLetter?.facts).toMatchObject({ reason: 'rejected', destination: 'emails' })
  })

  it.each([
    ['text', 'x'],
    ['texts', ['x']],
    ['nothing', []],
    ['a table', { queue: 'emails' }],
  ])('does not believe %s as x-death', (_kind, value) => {
    expect(deadLetterIn({ 'x-death': value })).toBeUndefined()
  })

  it('does not believe names that no queue can have', () => {
    const deadLetter = deadLetterIn({
      'x-death': [death('q'.repeat(300), 'rejected', { time: 'now', 'routing-keys': 'eu' })],
    })
    expect(deadLetter?.facts).toMatchObject({ reason: 'rejected', destination: undefined, since: undefined })
  })
})
