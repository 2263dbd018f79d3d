import { describe, expect, it } from '@jest/globals'
import { withReplayHeaders } from '../../../src/replay/replayed-message.ts'
import type { Message } from '../../../src/internal.ts'

describe('a message that is handled again', () => {
  it('has each field of the message that was read, so that its ID and window are the same', () => {
    const message: Required<Message> = {
      system: 'kafka',
      destination: 'sms.dead-letter',
      origin: 'sms',
      position: '0@1',
      key: Buffer.from('k'),
      value: Buffer.from('v'),
      headers: { id: 'm-1' },
      messageId: 'm-1',
      timestamp: 2_000,
      firstTimestamp: 1_000,
      redelivered: true,
    }
    const headers = { id: 'm-1', 'consume-once-replay-id': 'r1', 'consume-once-replay-count': '3' }
    expect(withReplayHeaders(message, 'r1', 2)).toEqual({ ...message, headers })
  })
})
