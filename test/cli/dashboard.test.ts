import { describe, expect, it, jest } from '@jest/globals'
import { beforeEachOpen } from '../kit/opened.ts'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionInfo } from '../../dashboard/api.ts'
import { pagesFolder } from '../kit/dashboard.ts'
import { compiled } from '../kit/compiled.ts'
import { freePort } from '../kit/servers/ports.ts'
import { Cli, COMPILED, WITHIN_MS, type CliRun } from '../kit/cli-process.ts'
import { newFolder } from '../kit/servers/private-instance.ts'

jest.setTimeout(WITHIN_MS)

const USER = 'CONSUME_ONCE_DASHBOARD_USER'
const PASSWORD = 'CONSUME_ONCE_DASHBOARD_PASSWORD'
const USERS_FILE = 'CONSUME_ONCE_DASHBOARD_USERS_FILE'

const session = async (port: number, headers: Record<string, string> = {}): Promise<SessionInfo | number> => {
  const response = await fetch(`http://127.0.0.1:${port}/api/session`, { headers })
  return response.ok ? ((await response.json()) as SessionInfo) : response.status
}

describe('consume-once dashboard', () => {
  let cli: Cli
  beforeEachOpen((own) => (cli = own(new Cli())))

  /** Runs until it serves, asks for its session, and ends it by SIGINT. */
  async function served(
    args: readonly string[],
    ask: (port: number) => Promise<void>,
    env: Readonly<Record<string, string>> = {},
    command: readonly [string, ...string[]] = COMPILED(),
  ): Promise<CliRun> {
    const port = await freePort()
    let asked: Promise<void> | undefined
    const run = await cli.run(['dashboard', '--port', String(port), '--pages', pagesFolder(), ...args], {
      command,
      env: { CONSUME_ONCE_CONFIG: compiled('test/cli/memory.config.ts'), ...env },
      onStderr: (text, signal) => {
        if (text.includes('Ctrl-C ends it')) asked ??= ask(port).finally(() => signal('SIGINT'))
      },
    })
    if (asked === undefined) throw new Error(`it did not serve: ${run.stderr}`)
    await asked
    return run
  }

  it('serves this machine read-only until Ctrl-C, and prints where', async () => {
    let found: SessionInfo | number | undefined
    const run = await served([], async (port) => {
      found = await session(port)
    })
    expect(found).toMatchObject({ readOnly: true, consumers: [{ id: 'workers/sms-sender' }] })
    expect(run.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\n$/)
    expect(run.exitCode).toBe(0)
  })

  it('knows several people by a file, and says which address tried wrong passwords', async () => {
    const file = join(newFolder('users'), 'users.txt')
    writeFileSync(file, '# on call\nana:correct horse\n\nben:battery:staple\n')
    const found: (SessionInfo | number)[] = []
    const run = await served(
      [],
      async (port) => {
        for (const pair of ['ana:correct horse', 'ben:battery:staple', 'ana:battery:staple']) {
          found.push(await session(port, { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }))
        }
      },
      { [USERS_FILE]: file },
    )
    expect(found).toMatchObject([{ by: 'ana' }, { by: 'ben' }, 401])
    expect(run.stderr).toContain('dashboard: wrong credentials, once, from 127.0.0.1')
    expect(run.stderr).not.toContain('staple')
  })

  it('believes the header of a proxy, if it comes from the proxy', async () => {
    const found: (SessionInfo | number)[] = []
    const ask = async (port: number): Promise<void> => {
      found.push(await session(port, { 'x-forwarded-user': 'ana' }), await session(port))
    }
    await served(['--user-header', 'x-forwarded-user', '--proxy', '127.0.0.1,10.0.0.2'], ask)
    await served(['--user-header', 'x-forwarded-user', '--proxy', '10.0.0.2'], ask)
    expect(found).toMatchObject([{ by: 'ana' }, 401, 401, 401])
  })

  it.each([
    [['--user-header', 'x-user'], {}, '--user-header and --proxy together'],
    [['--user-header', 'x-user', '--proxy', '10.0.0.2'], { [USER]: 'ops', [PASSWORD]: 'correct horse' }, 'one of'],
    [[], { [USERS_FILE]: '/nowhere/users.txt' }, 'cannot read /nowhere/users.txt'],
  ])('refuses a way to know people that is not whole: %j', async (args, env, problem) => {
    const run = await cli.run(['dashboard', ...args], {
      env: { CONSUME_ONCE_CONFIG: 'test/cli/memory.config.ts', ...env },
    })
    expect(run).toMatchObject({ exitCode: 3, stdout: '' })
    expect(run.stderr).toContain(problem)
  })

  it('lets people write and shows the environment if it is told to, and asks for credentials if they are set', async () => {
    const found: (SessionInfo | number)[] = []
    const authorization = `Basic ${Buffer.from('ops:correct horse').toString('base64')}`
    const run = await served(
      ['--write', '--environment', 'staging', '--host', '0.0.0.0', '--json'],
      async (port) => {
        found.push(await session(port), await session(port, { authorization }))
      },
      { [USER]: 'ops', [PASSWORD]: 'correct horse' },
    )
    expect(found).toMatchObject([401, { readOnly: false, by: 'ops', environment: { name: 'staging' } }])
    expect(JSON.parse(run.stdout)).toMatchObject({ command: 'dashboard', read_only: false })
  })

  it('goes on when nobody reads what it prints', async () => {
    let found: SessionInfo | number | undefined
    const ask = async (port: number): Promise<void> => {
      found = await session(port)
    }
    const run = await served([], ask, {}, ['bash', '-c', 'exec "$0" "$@" > >(true)', ...COMPILED()])
    expect(found).toMatchObject({ readOnly: true })
    expect(run).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('EPIPE') })
  })

  it.each([
    ['an address that others reach, without credentials', ['--host', '0.0.0.0'], {}, USER],
    ['a user without a password', [], { [USER]: 'ops' }, PASSWORD],
    ['a password without a user', ['--host', '0.0.0.0'], { [PASSWORD]: 'correct horse' }, USER],
  ])('refuses %s, and opens nothing', async (_, args, env, named) => {
    const run = await cli.run(['dashboard', ...args], {
      env: { CONSUME_ONCE_CONFIG: 'test/cli/memory.config.ts', ...(env as Record<string, string>) },
    })
    expect(run.exitCode).toBe(3)
    expect(run.stderr).toContain(named)
    expect(run.stdout).toBe('')
  })

  it('says which port is none', async () => {
    const run = await cli.run(['dashboard', '--port', '70000'])
    expect([run.exitCode, run.stderr]).toEqual([2, expect.stringContaining('0 to 65535')])
  })
})
