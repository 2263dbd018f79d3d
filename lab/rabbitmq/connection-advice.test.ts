import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect } from 'amqplib'
import { type RabbitConnect } from '../../adapters/amqplib/index.ts'
import { rabbitSource } from '../../adapters/amqplib/source-and-publisher.ts'
import type { ConfigError } from '../../src/index.ts'
import { backends } from '../../test/kit/backends.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { freePort } from '../../test/kit/servers/ports.ts'
import { startPrivateRabbit } from '../../test/kit/servers/private-rabbit.ts'

const describeRabbit = backends.has('rabbitmq') ? describe : describe.skip

const MAKE_CERTIFICATE = `set -e
openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj '/CN=Test CA' -days 2
openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost
printf 'subjectAltName=DNS:localhost' > names
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -days 2 -extfile names
chmod a+rx . && chmod a+r *`

/** A certificate for `localhost`, by an authority of its own. The broker may run as another user, who must read it. */
function makeCertificate(folder: string): void {
  execFileSync('bash', ['-c', MAKE_CERTIFICATE], { cwd: folder, stdio: 'pipe' })
}

async function failure(to: RabbitConnect): Promise<Pick<ConfigError, 'code' | 'message'>> {
  const { source } = rabbitSource(to, { queue: 'q' })
  const error = await source.open(new RecordingIntake()).then(
    () => new Error('it started'),
    (cause: unknown) => cause,
  )
  await source.close()
  return error as ConfigError
}

describeRabbit('a connection that a private RabbitMQ refuses', () => {
  const folder = mkdtempSync(join(tmpdir(), 'consume-once-certificate-'))
  let server: Awaited<ReturnType<typeof startPrivateRabbit>>
  let tlsPort: number

  beforeAll(async () => {
    makeCertificate(folder)
    tlsPort = await freePort()
    const conf = [
      `listeners.ssl.1 = 127.0.0.1:${tlsPort}`,
      `ssl_options.cacertfile = ${folder}/ca.pem`,
      `ssl_options.certfile = ${folder}/server.pem`,
      `ssl_options.keyfile = ${folder}/server.key`,
      'ssl_options.verify = verify_none',
    ].join('\n')
    // The machine's own version: another one cannot read the certificate from its root folder.
    server = await startPrivateRabbit({ conf, version: '3.10' })
    await server.control('add_vhost', 'closed')
    await server.control('add_vhost', 'full')
    await server.control('add_user', 'me', 's3cret')
    for (const vhost of ['/', 'full']) await server.control('set_permissions', '-p', vhost, 'me', '.*', '.*', '.*')
    await server.control('set_vhost_limits', '-p', 'full', '{"max-connections": 0}')
    await server.control('add_user', 'many', 's3cret')
    await server.control('set_permissions', '-p', '/', 'many', '.*', '.*', '.*')
    await server.control('set_user_limits', 'many', '{"max-connections": 0}')
  }, 120_000)

  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  })

  const at = (user: string, vhost: string): string =>
    `amqp://${user}:s3cret@127.0.0.1:${new URL(server.url).port}/${vhost}`
  const byTls = (host: string): string => `amqps://me:s3cret@${host}:${tlsPort}`

  it.each([
    [
      'a forbidden virtual host',
      () => at('me', 'closed'),
      'CONFIG_INVALID',
      "expected user 'me' to be allowed to use the virtual host 'closed'",
    ],
    ['the limit of a virtual host', () => at('me', 'full'), 'BROKER_UNREACHABLE', 'connection limit (0) is reached'],
    ['the limit of a user', () => at('many', ''), 'BROKER_UNREACHABLE', 'connection limit (0) is reached'],
    [
      'amqp to a TLS port',
      () => `amqp://me:s3cret@127.0.0.1:${tlsPort}`,
      'CONFIG_INVALID',
      'got a server that speaks TLS. Use amqps://',
    ],
    ['an authority that Node does not know', () => byTls('localhost'), 'CONFIG_INVALID', 'NODE_EXTRA_CA_CERTS'],
    [
      'a host that the certificate has not',
      () => () => connect(byTls('127.0.0.1'), { ca: [readFileSync(join(folder, 'ca.pem'))] }),
      'CONFIG_INVALID',
      'expected a certificate for the host of the address',
    ],
  ] as const)('says what to do about %s', async (_, to, code, text) => {
    const { code: got, message } = await failure(to())
    expect({ code: got, message }).toEqual({ code, message: expect.stringContaining(text) })
    expect(message).not.toContain('s3cret')
  })
})
