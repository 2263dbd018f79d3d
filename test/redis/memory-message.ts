import type { Message } from '../../src/index.ts'

let position = 0

export function memoryMessage(id: string, payload: string): Message {
  return {
    system: 'memory',
    destination: 'topic',
    origin: 'topic',
    position: String(position++),
    key: null,
    value: Buffer.from(payload),
    headers: { id },
    messageId: undefined,
    timestamp: undefined,
    redelivered: false,
  }
}
