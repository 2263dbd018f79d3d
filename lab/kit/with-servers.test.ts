import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { answers } from '../../test/kit/servers/answers.ts'
import { CATALOGUE, SERVER_NAMES } from '../../test/kit/servers/catalogue.ts'
import { server, sharedEndpoint, SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'

const SCRIPT = fileURLToPath(new URL('../../test/kit/servers/with-servers.ts', import.meta.url))
const SUPPORT = fileURLToPath(new URL('../../test/kit/', import.meta.url))

/** The servers of this run, named in the environment so that the script starts none of its own. */
const named: NodeJS.ProcessEnv = { ...process.env }

it('prints its usage if there is no command', async () => {
  const { err, code } = await tsx([SCRIPT, '--'], named)
  expect(err).toBe('usage: with-servers.ts -- command args...\n')
  expect(code).toBe(2)
})

// It takes all of them, whatever BACKENDS leaves.
if (SERVER_NAMES.every((name) => backends.has(name))) {
  describe('with-servers', () => {
    beforeAll(async () => {
      for (const name of SERVER_NAMES) named[CATALOGUE[name].testVariable] = await sharedEndpoint(name)
    }, SERVER_WITHIN_MS)

    it('gives the command all addresses, and exits with its code', async () => {
      const { brokers } = await server('kafka')
      const { out, code } = await withServers(
        `console.log([${SERVER_NAMES.map((name) => `process.env.${CATALOGUE[name].variable}`).join()}].join(' ')); process.exit(7)`,
      )
      expect(out).toMatch(/^redis:\S+ postgres:\S+ mysql:\S+ amqp:\S+ \S+\n$/)
      expect(out).toContain(brokers.join(','))
      expect(code).toBe(7)
    })

    it('hands a signal on and lets the command decide', async () => {
      const calm = `process.on('SIGTERM', () => { console.log('told'); process.exit(5) })`
      const { out, code } = await withServers(`${calm}; console.log('ready'); setInterval(() => {}, 1000)`, 'SIGTERM')
      expect(out).toBe('ready\ntold\n')
      expect(code).toBe(5)
    })

    it('exits with the code that a shell uses when the command dies by a signal', async () => {
      expect((await withServers(`process.kill(process.pid, 'SIGKILL')`)).code).toBe(137)
    })

    it('ends what it started', async () => {
      const { KAFKA_BROKERS: _none, [CATALOGUE.kafka.testVariable]: _own, ...others } = named
      const { out } = await withServers('console.log(process.env.KAFKA_BROKERS)', undefined, others)
      expect(out).toMatch(/:\d+\n$/)
      await expect(answers('kafka', out.trim())).rejects.toThrow('ECONNREFUSED')
    })

    it('reports which server is missing, and runs nothing', async () => {
      const env = { ...named, [CATALOGUE.redis.testVariable]: 'redis://127.0.0.1:1' }
      const { out, err, code } = await withServers(`console.log('ran')`, undefined, env)
      expect({ out, code }).toEqual({ out: '', code: 1 })
      expect(err).toContain('CONSUME_ONCE_TEST_REDIS_URL names redis://127.0.0.1:1, which does not answer')
    })

    it('clears up after a run whose process was killed', async () => {
      const killed = `
        import { openRun } from '${SUPPORT}servers/test-run.ts'
        import { startPrivateRedis } from '${SUPPORT}servers/private-redis.ts'
        await openRun()
        const { url } = await startPrivateRedis()
        process.stdout.write(url, () => process.kill(process.pid, 'SIGKILL'))`
      const { out: url } = await tsx(['--input-type=module', '--eval', killed], process.env)
      await expect(answers('redis', url)).resolves.toBeUndefined()
      await withServers('')
      await expect(answers('redis', url)).rejects.toThrow('ECONNREFUSED')
    })
  })
}

function withServers(
  javascript: string,
  signalWhenReady?: NodeJS.Signals,
  env: NodeJS.ProcessEnv = named,
): Promise<Ended> {
  return tsx([SCRIPT, '--', process.execPath, '--eval', javascript], env, signalWhenReady)
}

interface Ended {
  readonly out: string
  readonly err: string
  readonly code: number | null
}

async function tsx(args: readonly string[], env: NodeJS.ProcessEnv, signalWhenReady?: NodeJS.Signals): Promise<Ended> {
  const child = spawn(process.execPath, ['--import', 'tsx', ...args], { env })
  let out = ''
  let err = ''
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()))
  child.stdout.on('data', (bytes: Buffer) => {
    out += bytes.toString()
    if (signalWhenReady && out === 'ready\n') child.kill(signalWhenReady)
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { out, err, code }
}
