import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { startFaultProxy, type Fault, type FaultProxy } from '../../kit/fault-proxy.ts'

let echo: Server
let proxy: FaultProxy
let noting: Server | undefined

beforeEach(async () => {
  echo = createServer((socket) => void socket.on('error', () => {}).pipe(socket))
  await once(echo.listen(0, '127.0.0.1'), 'listening')
  proxy = await startFaultProxy((echo.address() as AddressInfo).port)
})

afterEach(async () => {
  await proxy.stop()
  await once(echo.close(), 'close')
  noting?.close()
})

describe('the fault proxy', () => {
  it('forwards bytes both ways', async () => {
    expect(await echoed(dial())).toBe('hello')
  })

  it('cuts what is connected and serves what comes after', async () => {
    const cut = dial()
    await echoed(cut)
    proxy.cut()
    await once(cut, 'close')
    expect(await echoed(dial())).toBe('hello')
    expect(proxy.connections).toBe(1)
  })

  it('hands the bytes of each connection to its listener', async () => {
    const heard: string[] = []
    const told: string[] = []
    const listening = await startFaultProxy((echo.address() as AddressInfo).port, () => ({
      fromClient: (bytes) => heard.push(`client: ${bytes.toString()}`),
      fromServer: (bytes) => heard.push(`server: ${bytes.toString()}`),
      closed: () => told.push('closed'),
    }))
    const held = dial(listening.port)
    expect(await echoed(held)).toBe('hello')
    expect(heard).toEqual(['client: hello', 'server: hello'])
    expect(told).toEqual([])
    await Promise.all([listening.stop(), once(held, 'close')])
    expect(told).toEqual(['closed'])
  })

  it('refuses new connections while those held go on', async () => {
    const held = dial()
    await echoed(held)
    proxy.refuse()
    await once(dial(), 'close')
    expect(await echoed(held)).toBe('hello')
    proxy.accept()
    expect(await echoed(dial())).toBe('hello')
  })

  it('closes the client when the target is gone', async () => {
    const client = dial()
    await echoed(client)
    const gone = await startFaultProxy(1)
    await once(dial(gone.port), 'close')
    await gone.stop()
    expect(await echoed(client)).toBe('hello')
  })

  it.each<[fault: Fault, arrived: string]>([
    ['cut before', 'first'],
    ['cut after', 'first second'],
  ])(
    'loses the connection of the request that meets the fault %s, after one that is spared',
    async (fault, arrived) => {
      const server = await notingServer()
      await using own = await startFaultProxy(server.port)
      own.breakNext(fault, 1)
      const client = dial(own.port)
      await echoed(client, 'first ')
      client.write('second ')
      await once(client, 'close')
      await until(() => server.got === `${arrived} end `)
      expect(own.faults).toBe(1)
      expect(await echoed(dial(own.port))).toBe('hello')
    },
  )

  it('swallows replies, and tells nobody', async () => {
    const server = await notingServer()
    await using own = await startFaultProxy(server.port)
    own.breakNext('swallowed')
    const client = dial(own.port)
    client.write('first ')
    await until(() => own.faults === 1)
    expect([server.got, client.bytesRead]).toEqual(['first ', 0])
  })

  it('falls silent until it is mended', async () => {
    const server = await notingServer()
    await using own = await startFaultProxy(server.port)
    own.breakNext('silence')
    const client = dial(own.port)
    client.write('first ')
    await until(() => own.faults === 1)
    own.mend()
    await once(client, 'close')
    await until(() => server.got === 'end ')
    expect(client.bytesRead).toBe(0)
  })

  it('keeps back what a client sends while frozen, and its end, and delivers both in their order', async () => {
    const server = await notingServer()
    await using own = await startFaultProxy(server.port)
    const client = dial(own.port)
    await echoed(client, 'first ')
    own.freeze()
    client.end('second ')
    await once(client, 'close')
    expect(server.got).toBe('first ')
    own.thaw()
    await until(() => server.got === 'first second end ')
  })

  it('stops with connections open, twice too', async () => {
    const held = dial()
    await echoed(held)
    await Promise.all([proxy.stop(), proxy.stop(), once(held, 'close')])
    expect(proxy.connections).toBe(0)
  })
})

function dial(port: number = proxy.port): Socket {
  return connect(port, '127.0.0.1').on('error', () => {})
}

/** It echoes, and notes what it gets. */
async function notingServer(): Promise<{ readonly port: number; got: string }> {
  const server = { port: 0, got: '' }
  noting = createServer((socket) => {
    socket.on('error', () => {}).on('data', (bytes) => (server.got += bytes.toString()))
    socket.on('end', () => (server.got += 'end ')).pipe(socket)
  })
  await once(noting.listen(0, '127.0.0.1'), 'listening')
  server.port = (noting.address() as AddressInfo).port
  return server
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1))
}

async function echoed(socket: Socket, text: string = 'hello'): Promise<string> {
  socket.write(text)
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  return bytes.toString()
}
