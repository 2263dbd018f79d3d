// The provider of effects: a process that logs each effect, so that the log survives the workers. It ends with its parent.

import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { trueMs } from '../../kit/true-time.ts'
import type { LoggedEffect, ProviderReply, ProviderRequest } from './protocol.ts'

const logs = new Map<string, LoggedEffect[]>()
const known = new Set<string>()

/** Has no await, so the lookup and the storing of a key are atomic. */
function answer(request: ProviderRequest): ProviderReply {
  const log = logs.get(request.log) ?? []
  logs.set(request.log, log)
  if (request.ask === 'log') return { effects: log }
  const { id, token, key } = request
  const name = `${request.log} ${key}`
  const isAccepted = key === undefined || !known.has(name)
  if (key !== undefined) known.add(name)
  log.push({ at: trueMs(), id, token, isAccepted })
  return { isAccepted }
}

const server = createServer((socket) => {
  socket.on('error', () => socket.destroy())
  createInterface({ input: socket }).on('line', (line) => {
    socket.write(`${JSON.stringify(answer(JSON.parse(line) as ProviderRequest))}\n`)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') process.stdout.write(`${address?.port}\n`)
})
process.stdin.resume().once('end', () => process.exit(0))
