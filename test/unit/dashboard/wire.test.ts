import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../kit/opened.ts'
import { once } from 'node:events'
import { connect } from 'node:net'
import { serveDashboard, type ServedDashboard } from '../../../dashboard/server/index.ts'
import { pagesFolder } from '../../kit/dashboard.ts'
import { MemoryBoard } from './memory-board.ts'

function tokenIn(text: string): string | undefined {
  return /"csrfToken":"([^"]+)"/.exec(text)?.[1]
}

// What a client that is no browser can send: `fetch` and `Request` make an address plain before it leaves.
describe('bytes on a socket', () => {
  let board: MemoryBoard
  let served: ServedDashboard

  beforeAllOpen(async (own) => {
    board = own(new MemoryBoard())
    await board.send(['a'])
    served = own(await serveDashboard({ consumers: [board.entry], pages: pagesFolder(), port: 0, readOnly: false }))
  })

  const answerTo = async (lines: readonly string[], body = ''): Promise<{ status: number; text: string }> => {
    const socket = connect(served.port, '127.0.0.1')
    let text = ''
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    socket.write([...lines, 'Connection: close', '', body].join('\r\n'))
    await once(socket, 'close')
    return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), text }
  }

  it.each([
    '/../secret.js',
    '/..%2fsecret.js',
    '/%2e%2e/secret.js',
    '/%2e%2e%2fsecret.txt',
    String.raw`/..\secret.js`,
    '/x/../../secret.txt',
    '/api/../../secret.txt',
    '//../secret.js',
    '/app-0123456789.js/../../secret.js',
    '/secret.js%00.js',
  ])('get no file beside the pages at %s', async (path) => {
    const { status, text } = await answerTo([`GET ${path} HTTP/1.1`, 'Host: localhost'])
    expect([200, 400, 404]).toContain(status)
    expect(text.split('\r\n\r\n').slice(1).join('')).not.toMatch(/^secret$/m)
  })

  it('get a page at its plain address', async () => {
    const { status, text } = await answerTo(['GET /app-0123456789.js HTTP/1.1', 'Host: localhost'])
    expect(status).toBe(200)
    expect(text).toContain('document.title')
  })

  it.each([
    ['the name of a stranger', ['GET /api/session HTTP/1.1', 'Host: evil.example']],
    ['the name of a stranger with the port of the dashboard', ['GET /api/session HTTP/1.1', 'Host: evil.example:9465']],
    ['a name that ends like this machine', ['GET / HTTP/1.1', 'Host: localhost.evil.example']],
    ['a name with a user before it', ['GET /api/session HTTP/1.1', 'Host: localhost@evil.example']],
  ])('are refused with %s', async (_, lines) => {
    const { status, text } = await answerTo(lines)
    expect([400, 403]).toContain(status)
    expect(text).not.toContain('csrfToken')
  })

  it('cannot name one host in the address and another one in the header', async () => {
    const { status, text } = await answerTo(['GET http://localhost/api/session HTTP/1.1', 'Host: evil.example'])
    expect([400, 403]).toContain(status)
    expect(text).not.toContain('csrfToken')
  })

  it.each([
    ['a form', 'application/x-www-form-urlencoded', 'consumer=workers%2Fsms&decision=done'],
    ['a form with files', 'multipart/form-data; boundary=x', '--x--'],
    ['a form that is JSON', 'text/plain', '{"consumer":"workers/sms","decision":"done","keys":["k"],"x":"="}'],
    ['JSON without the token', 'application/json', '{"consumer":"workers/sms","decision":"done","keys":["k"]}'],
  ])('of another site decide nothing as %s', async (_, type, body) => {
    for (const path of [
      '/api/decisions/preview',
      '/api/decisions',
      '/api/consumers/pause',
      '/api/dead-letters/redrive',
    ]) {
      const lines = [
        `POST ${path} HTTP/1.1`,
        'Host: localhost',
        'Origin: https://evil.example',
        `Content-Type: ${type}`,
      ]
      expect((await answerTo([...lines, `Content-Length: ${body.length}`], body)).status).toBe(403)
      // An old browser sends no Origin with a form.
      const bare = lines.filter((line) => !line.startsWith('Origin'))
      expect([403, 415]).toContain((await answerTo([...bare, `Content-Length: ${body.length}`], body)).status)
    }
  })

  it('set no cookie, and a cookie that somebody else put there changes nothing', async () => {
    const asked = ['GET /api/session HTTP/1.1', 'Host: localhost']
    const plain = await answerTo(asked)
    const planted = await answerTo([...asked, 'Cookie: session=planted; sid=planted; consume-once=planted'])
    expect(tokenIn(plain.text)).toHaveLength(43)
    expect(tokenIn(planted.text)).toBe(tokenIn(plain.text))
    for (const { text } of [plain, planted, await answerTo(['GET / HTTP/1.1', 'Host: localhost'])]) {
      expect(text).not.toMatch(/set-cookie|planted/i)
    }
  })
})
