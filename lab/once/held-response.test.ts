import { spawn } from 'node:child_process'
import { once as event } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { newFolder } from '../../test/kit/servers/private-instance.ts'
import { bundledProgram } from '../kit/worker/bundled.ts'
import { INBOXES_ON, LEASES_ON, type WorkerStore } from '../kit/worker-stores.ts'
import { pay } from './http-client.ts'
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

/** Starts a server, and gives its port. */
async function serving(spec: MortalSpec): Promise<{ readonly port: number; end(): Promise<readonly unknown[]> }> {
  const program = bundledProgram(new URL('http-program.ts', import.meta.url))
  const child = spawn(process.execPath, [program, JSON.stringify(spec)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = event(child, 'exit')
  const [port] = (await event(child.stdout, 'data')) as [Buffer]
  return {
    port: Number(port),
    end: () => {
      if (spec.dieAt === 'never') child.kill('SIGKILL')
      return ended
    },
  }
}

async function answered(spec: MortalSpec): Promise<readonly [status: number, body: string, replayed: boolean]> {
  const server = await serving(spec)
  const response = await pay(server.port, spec.key)
  const body = await response.text()
  await server.end()
  return [response.status, body, response.headers.get('idempotency-replayed') === 'true']
}

/** A server that is killed there, before a byte of its answer was sent. */
async function killed(cell: Omit<MortalSpec, 'key' | 'file'>): Promise<MortalSpec> {
  const file = join(newFolder('held'), 'effects')
  writeFileSync(file, '')
  const spec = { ...cell, key: uniqueName('key'), file }
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
      const how = { store: store.spec, framework, ...(onInDoubt && { onInDoubt }) }
      const again = await answered(await killed({ ...how, dieAt: 'before the mark' }))
      expect([again[0], again[2]]).toEqual([onInDoubt === 'park' ? 409 : 201, false])
    },
    60_000,
  )

  it.each(CELLS)(
    'is the answer to the next request, when the process died with it in hand: %s over %s',
    async (framework: Framework, _name, open, onInDoubt) => {
      await using store = await open()
      const how = { store: store.spec, framework, ...(onInDoubt && { onInDoubt }) }
      const spec = await killed({ ...how, dieAt: 'after the mark' })
      const [second, third] = [await answered(spec), await answered(spec)]
      expect(second).toEqual([201, JSON.stringify({ paid: spec.key }), true])
      expect(third).toEqual(second)
    },
    60_000,
  )
})
