import { once } from 'node:events'
import { connect } from 'node:net'
import type { ProviderReply, ProviderRequest } from './protocol.ts'

/** Sends one request on a new connection. Rejects without an answer: the outcome is then unknown. */
export async function askProvider(port: number, request: ProviderRequest, withinMs: number): Promise<ProviderReply> {
  const socket = connect(port, '127.0.0.1')
  try {
    socket.setEncoding('utf8').write(`${JSON.stringify(request)}\n`)
    let text = ''
    const signal = AbortSignal.timeout(withinMs)
    while (!text.endsWith('\n')) {
      const [chunk]: unknown[] = await Promise.race([
        once(socket, 'data', { signal }),
        once(socket, 'close', { signal }).then(() => {
          throw new Error('the provider was lost before it answered')
        }),
      ])
      text += String(chunk)
    }
    return JSON.parse(text) as ProviderReply
  } finally {
    socket.destroy()
  }
}
