import { once as event } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { effectsOn, INBOXES_ON, LEASES_ON, type WorkerStore } from '../kit/worker-stores.ts'
import { pay, serving } from './http-client.ts'
import { FRAMEWORKS, type Framework, type MortalSpec } from './mortal.ts'

const STORES: readonly (readonly [name: string, open: () => Promise<WorkerStore>, onInDoubt: 'park' | undefined])[] = [
  ['an inbox on Postgres', INBOXES_ON.postgres, undefined],
  ['a lease on Redis that parks', LEASES_ON.redis, 'park'],
]
const CELLS = FRAMEWORKS.flatMap((framework) => STORES.map(([name, ...how]) => [framework, name, ...how] as const))

/** Everything that a server sent on a connection with one request, until the connection ended. */
async function bytesFor(port: number, key: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const body = JSON.stringify({ amount: 7 })
  socket.write(
    `POST /pay HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nIdempotency-Key: "${key}"\r\n\r\n${body}`,
  )
  let received = ''
  socket.on('data', (bytes) => (received += String(bytes)))
  socket.on('error', () => {})
  await event(socket, 'close')
  return received
}

async function answered(spec: MortalSpec): Promise<readonly [status: number, body: string, replayed: boolean]> {
  const server = await serving(spec)
  const response = await pay(server.port, spec.key)
  const body = await response.text()
  await server.end()
  return [response.status, body, response.headers.get('idempotency-replayed') === 'true']
}

/** A server that is killed there, before a byte of its answer was sent. */
async function killed(store: WorkerStore, cell: Omit<MortalSpec, 'key' | 'file' | 'store'>): Promise<MortalSpec> {
  const spec = { ...cell, store: store.spec, key: uniqueName('key'), file: effectsOn(store).file }
  const server = await serving(spec)
  expect(await bytesFor(server.port, spec.key)).toBe('')
  expect(await server.end()).toEqual([null, 'SIGKILL'])
  return { ...spec, dieAt: 'never' }
}

const describeOnBoth = (['postgres', 'redis'] as const).every((on) => backends.has(on)) ? describe : describe.skip

describeOnBoth('a response that is held', () => {
  it.each(CELLS)(
    'has sent not a byte before its mark: %s over %s',
    async (framework: Framework, _name, open, onInDoubt) => {
      await using store = await open()
      const how = { framework, ...(onInDoubt && { onInDoubt }) }
      const again = await answered(await killed(store, { ...how, dieAt: 'before the mark' }))
      expect([again[0], again[2]]).toEqual([onInDoubt === 'park' ? 409 : 201, false])
    },
    60_000,
  )

  it.each(CELLS)(
    'is the answer to the next request, when the process died with it in hand: %s over %s',
    async (framework: Framework, _name, open, onInDoubt) => {
      await using store = await open()
      const how = { framework, ...(onInDoubt && { onInDoubt }) }
      const spec = await killed(store, { ...how, dieAt: 'after the mark' })
      const [second, third] = [await answered(spec), await answered(spec)]
      expect(second).toEqual([201, JSON.stringify({ paid: spec.key }), true])
      expect(third).toEqual(second)
    },
    60_000,
  )
})
