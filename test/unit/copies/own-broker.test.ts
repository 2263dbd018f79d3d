import { describe, expect, it } from '@jest/globals'
import {
  COPY_HEADER,
  copyHeaders,
  copyNumber,
  copyText,
  deadLetterIn,
  redrivenHeaders,
  type DeadLetter,
  type Message,
  type RetryCopy,
} from '../../../src/internal.ts'

const AT = 1_700_000_000_000

const message: Message = {
  system: 'nats',
  destination: 'sms.retry',
  origin: 'sms',
  position: '7',
  key: Buffer.from('k'),
  value: Buffer.from('{}'),
  // With a copy's headers of before, and one that no object of JavaScript may inherit.
  headers: Object.assign(Object.create(null) as object, {
    'message-id': 'm1',
    repeated: ['a', 'b'],
    ['__proto__']: 'x',
    [COPY_HEADER.notBefore]: '1',
    [COPY_HEADER.replayCount]: '1',
  }),
  timestamp: AT - 5_000,
}

const copy = {
  message,
  key: 'digest',
  detail: 'x'.repeat(3_000),
  errorClass: 'TypeError',
  attempts: 2,
  consumer: 'sms-sender',
  group: 'sms',
}
const deadLetter: DeadLetter = { ...copy, reason: 'attempts-spent', parked: true, setAsideAt: AT - 1_000 }
const retry: RetryCopy = { ...copy, why: 'failed', delayMs: 60_000 }

describe('the headers of a copy on a broker of others', () => {
  it('are those of the message, and what a dead letter of the library tells', () => {
    const headers = copyHeaders(deadLetter, AT)
    expect(headers['message-id']).toBe('m1')
    expect(headers['repeated']).toEqual(['a', 'b'])
    expect(Object.keys(headers)).toContain('__proto__')
    expect(deadLetterIn(headers)).toEqual({
      reason: 'attempts-spent',
      parked: true,
      since: AT - 1_000,
      consumer: 'sms-sender',
      group: 'sms',
    })
    expect(copyText(headers, COPY_HEADER.originTopic)).toBe('sms')
    expect(copyNumber(headers, COPY_HEADER.attempts)).toBe(2)
    expect(copyNumber(headers, COPY_HEADER.replayCount)).toBe(1)
    expect(Object.hasOwn(headers, COPY_HEADER.notBefore)).toBe(false)
    expect(copyText(headers, COPY_HEADER.detail)).toHaveLength(1_024)
  })

  it('say of a retry copy when it is due, and are no dead letter', () => {
    const headers = copyHeaders(retry, AT)
    expect(copyNumber(headers, COPY_HEADER.notBefore)).toBe(AT + 60_000)
    expect(deadLetterIn(headers)).toBeUndefined()
    expect(headers['message-id']).toBe('m1')
  })

  it('keep when the message failed first, over any number of copies', () => {
    const first = copyHeaders(retry, AT)
    const second = copyHeaders({ ...deadLetter, message: { ...message, headers: first } }, AT + 90_000)
    expect(second[COPY_HEADER.firstFailureAt]).toBe(first[COPY_HEADER.firstFailureAt])
  })

  it('are gone from a message that is sent back, but for what is about the message', () => {
    const headers = copyHeaders(deadLetter, AT)
    const item = {
      part: 'sms.dead-letter',
      position: '0',
      message: { ...message, headers },
      timestamp: AT,
      timestampOf: 'broker' as const,
    }
    const added = { [COPY_HEADER.replayId]: 'r1', [COPY_HEADER.replayCount]: '2' }
    const back = redrivenHeaders({ item, destination: 'sms', headers: added })
    expect({ ...back }).toEqual({ 'message-id': 'm1', repeated: ['a', 'b'], ['__proto__']: 'x', ...added })
    // Elsewhere it is still the message of its origin.
    const elsewhere = redrivenHeaders({ item, destination: 'other', headers: added })
    expect(copyText(elsewhere, COPY_HEADER.originTopic)).toBe('sms')
  })
})
