import { describe, expect, it } from '@jest/globals'
import { basicAuth, trustedHeader, type DashboardOptions } from '../../../dashboard/server/index.ts'
import { ManualClock } from '../../kit/manual-clock.ts'
import { MemoryBoard } from './memory-board.ts'

const RIGHT = 'ana:correct horse'

const ignore = (): void => {}

/** A dashboard that several people may see, and what it logs. */
class Door implements AsyncDisposable {
  readonly clock = new ManualClock()
  readonly lines: { readonly fields: object; readonly message: string }[] = []
  /** Credentials that were compared. */
  looked = 0
  readonly #made: MemoryBoard

  constructor(options: Partial<DashboardOptions> = {}) {
    const users = basicAuth({
      users: [
        { user: 'ana', password: 'correct horse' },
        { user: 'ben', password: 'battery staple', readOnly: true },
      ],
    })
    const warn = (fields: object, message: string): void => void this.lines.push({ fields, message })
    this.#made = new MemoryBoard({
      clock: this.clock,
      log: { debug: ignore, info: ignore, warn, error: ignore },
      auth: (request, from) => {
        this.looked++
        return users(request, from)
      },
      ...options,
    })
  }

  ask(client: string | undefined, headers: Readonly<Record<string, string>>): Promise<Response> {
    return this.#made.board.fetch(new Request('http://localhost/api/session', { headers }), client)
  }

  try(client: string | undefined, pair: string): Promise<Response> {
    return this.ask(client, { authorization: `Basic ${Buffer.from(pair).toString('base64')}` })
  }

  close(): Promise<void> {
    return this.#made.board.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#made[Symbol.asyncDispose]()
  }
}

describe('wrong credentials', () => {
  it('are looked at ten times from one address, and once more each 5 s; another address is as free as before', async () => {
    await using door = new Door()
    const answers = await Promise.all(Array.from({ length: 4_000 }, (_, at) => door.try('10.0.0.1', `ana:guess ${at}`)))
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(10)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(3_990)
    expect(door.looked).toBe(10)
    expect(answers.at(-1)?.headers.get('retry-after')).toBe('5')
    // The right one waits here, and nowhere else.
    expect((await door.try('10.0.0.1', RIGHT)).status).toBe(429)
    expect((await door.try('10.0.0.2', RIGHT)).status).toBe(200)
    await door.clock.advance(5_000)
    expect((await door.try('10.0.0.1', RIGHT)).status).toBe(200)
  })

  it('do not lock out who was there before from the same address, as behind a proxy', async () => {
    await using door = new Door()
    expect((await door.try('10.0.0.1', RIGHT)).status).toBe(200)
    for (let at = 0; at < 50; at++) await door.try('10.0.0.1', `ana:guess ${at}`)
    for (let at = 0; at < 50; at++) expect((await door.try('10.0.0.1', RIGHT)).status).toBe(200)
    expect((await door.try('10.0.0.1', 'ana:guess 51')).status).toBe(429)
  })

  it('count for a network of IPv6, whichever of its addresses has them, and for one of IPv4 in any spelling', async () => {
    await using door = new Door()
    for (let at = 0; at < 20; at++) await door.try(`2001:db8::${at.toString(16)}`, `ana:guess ${at}`)
    expect((await door.try('2001:db8:0:0:9::1', 'ana:another')).status).toBe(429)
    expect((await door.try('2001:db8:0:1::1', 'ana:another')).status).toBe(401)
    for (let at = 0; at < 20; at++) await door.try(`${at % 2 === 0 ? '' : '::ffff:'}10.0.0.1`, `ana:guess ${at}`)
    expect(door.looked).toBe(21)
  })

  it('are a line of the log at once, and one a minute while they go on, without what was sent', async () => {
    await using door = new Door()
    for (let at = 0; at < 30; at++) await door.try(`10.0.0.${at % 2}`, `secret-name:secret ${at}`)
    expect(door.lines).toHaveLength(1)
    expect(door.lines[0]?.message).toBe('dashboard: wrong credentials, once, from 10.0.0.0')
    await door.clock.advance(60_000)
    expect(door.lines[1]).toEqual({
      fields: { wrong: 19, ignored: 10, clients: ['10.0.0.1', '10.0.0.0'] },
      message: 'dashboard: wrong credentials, 29 times, from 10.0.0.1, 10.0.0.0; 10 of them were not looked at',
    })
    await door.clock.advance(120_000)
    expect(door.lines).toHaveLength(2)
    await door.try('10.0.0.9', 'ana:guess')
    await door.try('10.0.0.9', 'ana:guess again')
    expect(door.lines).toHaveLength(3)
    await door.close()
    expect(door.lines).toHaveLength(4)
    expect(JSON.stringify(door.lines)).not.toContain('secret')
  })

  it('do not count where nobody sent any, or nobody could say', async () => {
    await using silent = new Door()
    for (let at = 0; at < 20; at++) expect((await silent.ask('10.0.0.1', {})).status).toBe(401)
    expect((await silent.try('10.0.0.1', RIGHT)).status).toBe(200)
    await using broken = new Door({ auth: () => Promise.reject(new Error('the directory is down')) })
    for (let at = 0; at < 20; at++) expect((await broken.try('10.0.0.1', RIGHT)).status).not.toBe(429)
    expect(silent.lines.length + broken.lines.length).toBe(0)
  })
})

describe('persons', () => {
  it('are told apart by basicAuth, and some may only look', async () => {
    await using door = new Door({ readOnly: false })
    expect(await (await door.try('10.0.0.1', RIGHT)).json()).toMatchObject({ by: 'ana', readOnly: false })
    expect(await (await door.try('10.0.0.1', 'ben:battery staple')).json()).toMatchObject({ by: 'ben', readOnly: true })
    expect((await door.try('10.0.0.1', 'ana:battery staple')).status).toBe(401)
  })

  it('are named by the header of a proxy that is known, and by nobody else', async () => {
    const auth = trustedHeader({ header: 'x-forwarded-user', proxies: ['10.0.0.2', '10.1.0.0/16', 'fd00::/8'] })
    await using door = new Door({ auth })
    const named = async (client: string | undefined, user: string): Promise<unknown> => {
      const response = await door.ask(client, user === '' ? {} : { 'x-forwarded-user': user })
      return response.status === 200 ? ((await response.json()) as { by: string }).by : response.status
    }
    for (const proxy of ['10.0.0.2', '::ffff:10.0.0.2', '10.1.7.7', 'fd00::7']) {
      expect(await named(proxy, 'ana')).toBe('ana')
    }
    for (const other of ['10.0.0.3', '127.0.0.1', '::1', undefined, 'ana']) expect(await named(other, 'ana')).toBe(401)
    expect(await named('10.0.0.2', '')).toBe(401)
    // The proxy added its header to one that it should have removed.
    expect(await named('10.0.0.2', 'admin, ana')).toBe(401)
  })

  it.each([
    [() => basicAuth({ users: [] }), 'users: expected at least one, in a list, of users, got none'],
    [
      () => basicAuth({ users: [{ user: 'ana', password: 'short' }] }),
      'users[0].password: expected at least 8 characters, got less',
    ],
    [
      () => basicAuth({ users: [1, 2].map((at) => ({ user: 'ana', password: `battery staple ${at}` })) }),
      'ana is there twice',
    ],
    [() => trustedHeader({ header: 'x user', proxies: ['10.0.0.1'] }), 'header: expected the name of a header'],
    [() => trustedHeader({ header: 'x-user', proxies: [] }), 'proxies: expected at least one, in a list, got none'],
    [() => trustedHeader({ header: 'x-user', proxies: ['10.0.0.0/33'] }), 'proxies[0]: expected an address'],
    [() => trustedHeader({ header: 'x-user', proxies: ['proxy.local'] }), 'proxies[0]: expected an address'],
  ])('are refused where options would let nobody or everybody in: %#', (make, problem) => {
    expect(make).toThrow(problem)
  })
})
