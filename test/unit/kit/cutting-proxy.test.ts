import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { startCuttingProxy, type CuttingProxy } from '../../kit/cutting-proxy.ts'

let echo: Server
let proxy: CuttingProxy

beforeEach(async () => {
  echo = createServer((socket) => void socket.on('error', () => {}).pipe(socket))
  await once(echo.listen(0, '127.0.0.1'), 'listening')
  proxy = await startCuttingProxy((echo.address() as AddressInfo).port)
})

afterEach(async () => {
  await proxy.stop()
  await once(echo.close(), 'close')
})

describe('the cutting proxy', () => {
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

  it('lets somebody hear each connection', async () => {
    const heard: string[] = []
    const told: string[] = []
    const listening = await startCuttingProxy((echo.address() as AddressInfo).port, () => ({
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
    const gone = await startCuttingProxy(1)
    await once(dial(gone.port), 'close')
    await gone.stop()
    expect(await echoed(client)).toBe('hello')
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

async function echoed(socket: Socket): Promise<string> {
  socket.write('hello')
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  return bytes.toString()
}
