import { describe, expect, it } from '@jest/globals'
import { basicAuth, dashboard, serveDashboard } from '../../../dashboard/server/index.ts'
import { ConfigError, defineConsumer, type ConfiguredConsumer, type Store } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { Page, pagesFolder } from '../../kit/dashboard.ts'
import { CONSUMER, MemoryBoard } from './memory-board.ts'

const preview = { consumer: CONSUMER, decision: 'done', matching: { state: 'parked' } } as const

const byUser = (request: Request): { by: string } => ({ by: request.headers.get('x-user') ?? '' })

const basic = (text: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(text).toString('base64')}`,
})

const problemOf = (make: () => unknown): string => {
  try {
    make()
  } catch (error) {
    if (error instanceof ConfigError) return error.message
  }
  return 'was not refused'
}

describe('a dashboard that is read-only, as by default', () => {
  it('answers each write with 405, and shows no decisions', async () => {
    await using made = new MemoryBoard()
    await made.sendFailing('parked', ['p'])
    const writes = [
      await made.post('POST api/decisions/preview', preview),
      await made.post('POST api/decisions', { consumer: CONSUMER, token: 'x', reason: 'x', confirm: 1 }),
      await made.post('POST api/dead-letters/redrive', { consumer: CONSUMER, look: 'x', reason: 'x', confirm: 1 }),
      await made.post('POST api/replays/start', { consumer: CONSUMER, plan: 'x', reason: 'x', confirm: 1 }),
      await made.post('POST api/replays/pause', { consumer: CONSUMER, id: 'x', reason: 'OPS-1' }),
      await made.post('POST api/replays/abort', { consumer: CONSUMER, id: 'x', reason: 'OPS-1' }),
    ]
    expect(writes.map(({ status, error }) => [status, error.code])).toEqual(writes.map(() => [405, 'HTTP_READ_ONLY']))
    const { answer } = await made.get('GET api/message', { consumer: CONSUMER, id: 'p' })
    expect(answer.records).toMatchObject([{ state: 'parked', decisions: [] }])
  })

  it('is read-only for one person, and not for another', async () => {
    await using made = new MemoryBoard({
      readOnly: false,
      auth: (request) => ({ ...byUser(request), readOnly: byUser(request).by !== 'ana' }),
    })
    const [ana, ben] = ['ana', 'ben'].map((user) => new Page(made.board, { headers: { 'x-user': user } }))
    expect((await ana?.post('POST api/decisions/preview', preview))?.status).toBe(200)
    expect((await ben?.post('POST api/decisions/preview', preview))?.status).toBe(405)
  })
})

describe('requests that another site makes a browser send', () => {
  it.each([
    ['the Origin of another site', { origin: 'https://evil.example' }, 'HTTP_ORIGIN'],
    ['an Origin of a sandboxed frame', { origin: 'null' }, 'HTTP_ORIGIN'],
    ['Sec-Fetch-Site cross-site', { 'sec-fetch-site': 'cross-site' }, 'HTTP_ORIGIN'],
    ['Sec-Fetch-Site same-site', { 'sec-fetch-site': 'same-site' }, 'HTTP_ORIGIN'],
    ['no CSRF token', { 'x-consume-once-csrf': '' }, 'HTTP_CSRF'],
    ['a CSRF token of another process', { 'x-consume-once-csrf': 'A'.repeat(43) }, 'HTTP_CSRF'],
    ['the content-type of a form', { 'content-type': 'text/plain' }, 'HTTP_CONTENT_TYPE'],
  ])('are refused with %s', async (_, headers, code) => {
    await using made = new MemoryBoard({ readOnly: false })
    const refused = await new Page(made.board).post('POST api/decisions/preview', preview, { headers })
    expect([refused.error.code, refused.status]).toEqual([code, code === 'HTTP_CONTENT_TYPE' ? 415 : 403])
  })

  it('cannot use the CSRF token of another person', async () => {
    await using made = new MemoryBoard({ readOnly: false, auth: byUser })
    const ofAna = await new Page(made.board, { headers: { 'x-user': 'ana' } }).get('GET api/session', {})
    const ben = new Page(made.board, { headers: { 'x-user': 'ben' } })
    const headers = { 'x-consume-once-csrf': ofAna.answer.csrfToken }
    expect((await ben.post('POST api/decisions/preview', preview, { headers })).error.code).toBe('HTTP_CSRF')
  })

  it('cannot make the store work by an image of another site', async () => {
    await using made = new MemoryBoard()
    const response = await new Page(made.board).raw('api/counts', { headers: { 'sec-fetch-site': 'cross-site' } })
    expect(response.status).toBe(403)
  })

  it('get answers that no other site may read', async () => {
    await using made = new MemoryBoard()
    const response = await new Page(made.board).raw('api/session')
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    expect(response.headers.get('set-cookie')).toBeNull()
    expect(response.headers.get('cache-control')).toBe('no-store')
  })
})

describe('the name under which a browser asks', () => {
  it.each(['evil.example', 'evil.example:9465', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.7'])(
    'is refused without auth if it is %s, as after DNS rebinding',
    async (host) => {
      await using made = new MemoryBoard()
      for (const path of ['', 'api/session', 'app-0123456789.js']) {
        expect((await made.raw(path, { headers: { host } })).status).toBe(403)
      }
    },
  )

  it.each(['localhost:9465', '127.0.0.1:9465', '[::1]:9465', 'LOCALHOST'])('is answered if it is %s', async (host) => {
    await using made = new MemoryBoard()
    expect((await new Page(made.board).raw('api/session', { headers: { host } })).status).toBe(200)
  })

  it('is one of `hosts`, if they are given', async () => {
    await using made = new MemoryBoard({ auth: () => ({ by: 'ana' }), hosts: ['ops.example', 'other.example:8443'] })
    const status = async (host: string): Promise<number> =>
      (await new Page(made.board).raw('api/session', { headers: { host } })).status
    expect(await Promise.all(['ops.example', 'ops.example:1', 'other.example:8443'].map(status))).toEqual([
      200, 200, 200,
    ])
    expect(await Promise.all(['evil.example', 'other.example'].map(status))).toEqual([403, 403])
  })
})

describe('credentials', () => {
  it('are asked for on every path', async () => {
    await using made = new MemoryBoard({ auth: basicAuth({ user: 'ops', password: 'correct horse' }) })
    for (const path of ['', 'api/session', 'api/counts', 'app-0123456789.js', 'api/nothing']) {
      const response = await made.raw(path)
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toContain('Basic')
    }
    const session = await new Page(made.board, { headers: basic('ops:correct horse') }).get('GET api/session', {})
    expect(session.answer).toMatchObject({ by: 'ops', readOnly: true })
    for (const wrong of ['ops:wrong horse', 'ops:', ':', 'other:correct horse', 'ops:correct horse ']) {
      expect((await made.raw('api/session', { headers: basic(wrong) })).status).toBe(401)
    }
  })

  it('may be refused by an answer of the hook, such as a redirect, and by nothing', async () => {
    const login = new Response(null, { status: 302, headers: { location: 'https://login.example/' } })
    await using sent = new MemoryBoard({ auth: () => login })
    const response = await new Page(sent.board).raw('')
    expect([response.status, response.headers.get('location')]).toEqual([302, 'https://login.example/'])
    await using refused = new MemoryBoard({ auth: () => undefined })
    expect((await new Page(refused.board).raw('api/session')).status).toBe(401)
  })

  it('that are half a pair, or too short, are an error', () => {
    expect(problemOf(() => basicAuth({ user: 'ops', password: '' }))).toContain('password')
    expect(problemOf(() => basicAuth({ user: '', password: 'correct horse' }))).toContain('user')
    expect(problemOf(() => basicAuth({ user: 'ops', password: 'short' }))).toContain('at least 8')
  })

  it('are needed for every address that others reach', async () => {
    const consumers = [on(memoryStore())]
    const options = { consumers, pages: pagesFolder(), port: 0 }
    for (const host of ['0.0.0.0', '::', '10.0.0.7', 'ops.example']) {
      await expect(serveDashboard({ ...options, host })).rejects.toThrow('`auth`')
    }
    expect(problemOf(() => dashboard({ consumers, pages: pagesFolder(), hosts: ['ops.example'] }))).toContain('`auth`')
  })
})

describe('pages and files', () => {
  it('are never outside of their folder', async () => {
    await using made = new MemoryBoard()
    for (const path of [
      '../secret.js',
      '..%2fsecret.js',
      '%2e%2e/secret.js',
      '..\\secret.js',
      '....//secret.js',
      'secret.js',
      '/etc/passwd.js',
      'index.html%00.js',
    ]) {
      const response = await made.raw(path)
      expect([path, await response.text()]).not.toEqual([path, 'secret'])
      expect([200, 404]).toContain(response.status)
    }
    expect((await made.raw('../secret.js')).status).toBe(404)
  })

  it('allow no inline script, no frame and no guess of their type', async () => {
    await using made = new MemoryBoard()
    for (const path of ['', 'app-0123456789.js', 'api/session', 'api/nothing', 'nothing.js']) {
      const { headers } = await made.raw(path)
      const policy = headers.get('content-security-policy') ?? ''
      expect(policy).toContain("script-src 'self';")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toMatch(/unsafe|\*|https?:/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
    }
  })

  it('are kept by a browser for ever if their name has their hash, and looked at again otherwise', async () => {
    await using made = new MemoryBoard()
    const script = await made.raw('app-0123456789.js')
    expect(script.headers.get('cache-control')).toContain('immutable')
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    const index = await made.raw('')
    expect(index.headers.get('cache-control')).toBe('no-cache')
    const again = await made.raw('', { headers: { 'if-none-match': index.headers.get('etag') ?? '' } })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })

  it('have the base path, and lie under it only', async () => {
    await using made = new MemoryBoard({ basePath: '/ops/board' })
    expect(await (await made.raw('ops/board/')).text()).toContain('<base href="/ops/board/" />')
    expect(await (await made.raw('ops/board/messages')).text()).toContain('<base href="/ops/board/" />')
    expect((await made.raw('ops/board', { redirect: 'manual' })).headers.get('location')).toBe('/ops/board/')
    for (const path of ['', 'api/session', 'ops/boardapi/session', 'app-0123456789.js']) {
      expect((await made.raw(path)).status).toBe(404)
    }
    expect((await made.raw('ops/board/api/session')).status).toBe(200)
  })

  it.each([['to,text'], [' to'], [''], ['payload#/to']])('refuses to hide %j, which is no name', (name) => {
    const consumers = [on(memoryStore())]
    expect(problemOf(() => dashboard({ consumers, pages: pagesFolder(), redact: ['id', name] }))).toContain(
      'redact[1]: expected the name of a field or header',
    )
  })

  it('may not have a base path with markup', () => {
    const consumers = [on(memoryStore())]
    for (const basePath of ['ops', '/"><script>', '/a b', '/../x?', '//evil.example']) {
      expect(problemOf(() => dashboard({ consumers, pages: pagesFolder(), basePath }))).toContain('basePath')
    }
  })
})

describe('what is asked for', () => {
  it('is bounded: bodies, texts, lists, numbers', async () => {
    await using made = new MemoryBoard({ readOnly: false })
    const large = { ...preview, keys: ['x'.repeat(1_200_000)] }
    expect((await made.post('POST api/decisions/preview', large)).status).toBe(413)
    const many = { consumer: CONSUMER, decision: 'done', keys: Array.from({ length: 1_001 }, () => 'k'.repeat(22)) }
    expect((await made.post('POST api/decisions/preview', many as never)).status).toBe(400)
    for (const query of ['limit=501', 'limit=0', 'limit=x', 'limit=1.5', 'state=all', 'state=__proto__']) {
      const path = `api/records?consumer=${encodeURIComponent(CONSUMER)}&${query.includes('state') ? '' : 'state=parked&'}${query}`
      expect([query, (await made.raw(path)).status]).toEqual([query, 400])
    }
    expect((await made.raw('api/records?consumer=__proto__&state=parked')).status).toBe(404)
    const bad = await made.raw('api/decisions', { method: 'POST', body: '{', headers: await honest(made) })
    expect(bad.status).toBe(400)
  })

  it('is limited in number for each client, and says when to come again', async () => {
    await using made = new MemoryBoard()
    const statuses: number[] = []
    const waits: number[] = []
    for (let at = 0; at < 120; at++) {
      const response = await made.board.fetch(askedOf(CONSUMER), '10.0.0.1')
      statuses.push(response.status)
      waits.push(Number(response.headers.get('retry-after')))
    }
    expect(waits.map((seconds) => seconds > 0)).toEqual(statuses.map((status) => status === 429))
    expect(statuses).toContain(429)
    expect(statuses[0]).toBe(200)
    expect((await made.board.fetch(askedOf(CONSUMER), '10.0.0.2')).status).toBe(200)
  })

  it('waits for a bounded number of others', async () => {
    const slow = slowStore(100)
    const board = dashboard({ consumers: [on(slow.store)], pages: pagesFolder() })
    const asked = Array.from({ length: 200 }, (_, at) => board.fetch(askedOf('g/c'), `10.0.0.${at}`))
    const statuses = (await Promise.all(asked)).map(({ status }) => status)
    expect(slow.most()).toBe(8)
    expect(new Set(statuses)).toEqual(new Set([429, 503]))
    expect(statuses.filter((status) => status === 503)).toHaveLength(8 + 64)
  })

  it('is answered within a bounded time, if the store never answers', async () => {
    const board = dashboard({ consumers: [on(slowStore(undefined).store)], pages: pagesFolder(), timeoutMs: 50 })
    const response = await board.fetch(askedOf('g/c'))
    expect(await response.json()).toMatchObject({ error: { status: 503, message: 'no answer within 0.05 s' } })
  })
})

describe('texts of strangers', () => {
  it('are JSON, never markup', async () => {
    const id = '"><img src=x onerror=alert(1)>'
    await using made = new MemoryBoard()
    made.failing.set(id, 'given-up')
    await made.send([id])
    const path = `api/message?consumer=${encodeURIComponent(CONSUMER)}&id=${encodeURIComponent(id)}`
    const response = await made.raw(path)
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(JSON.parse(await response.text())).toMatchObject({
      records: [{ state: 'given-up', cause: 'TerminalError: no such number <script>alert(1)</script>' }],
    })
    const missing = await made.raw(`api/records?consumer=${encodeURIComponent('<script>')}&state=parked`)
    expect(missing.headers.get('content-type')).toBe('application/json; charset=utf-8')
  })
})

async function honest(page: Pick<Page, 'get'>): Promise<Record<string, string>> {
  const { answer } = await page.get('GET api/session', {})
  return { 'content-type': 'application/json', 'x-consume-once-csrf': answer.csrfToken }
}

function askedOf(consumer: string): Request {
  return new Request(`http://localhost/api/message?consumer=${encodeURIComponent(consumer)}&id=a`)
}

function on(store: Store): ConfiguredConsumer {
  const consumer = defineConsumer({ name: 'c', store, handle: () => {} })
  return { consumer, subscription: { group: 'g', origins: ['t'] } }
}

/** A store that fails after a time, or never answers. `most`: how often it was asked at once. */
function slowStore(afterMs: number | undefined): { readonly store: Store; readonly most: () => number } {
  const store = memoryStore()
  let now = 0
  let most = 0
  const peek = (): Promise<never> => {
    most = Math.max(most, ++now)
    return new Promise((_, reject) => {
      if (afterMs === undefined) return
      setTimeout(() => {
        now--
        reject(new Error('the connection was lost'))
      }, afterMs)
    })
  }
  const admin = Object.assign(Object.create(store.admin ?? null) as NonNullable<Store['admin']>, { peek })
  return { store: Object.assign(Object.create(store) as typeof store, { admin }), most: () => most }
}
