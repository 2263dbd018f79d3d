import type { Message } from '../../src/ports/message.ts'

/** A message from a queue, of which nothing matters but what is given. `origin`: where it is and where it came from. */
export function messageWith(given: Partial<Message> = {}): Message {
  const { origin = 'queue' } = given
  return {
    system: 'memory',
    destination: origin,
    origin,
    position: '1',
    key: null,
    value: Buffer.from('{}'),
    headers: {},
    ...given,
  }
}
