import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { entries } from '../../packaging/entries.ts'
import { ENGINE, WITHOUT_ENGINE } from '../../test/package/kit/chunks.ts'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'

const run = promisify(execFile)
const WITHIN_MS = 300_000
/** The tarball that a release will publish. */
const GIVEN = process.env['CONSUME_ONCE_TARBALL']

/** Packages that a user has besides this one, in the versions that the tests use, and two TypeScripts. */
const BESIDE = [
  'kafkajs',
  'amqplib',
  'ioredis',
  'lru-cache',
  'mysql2',
  'pg',
  'pino',
  'redis',
  '@electric-sql/pglite',
  '@opentelemetry/api',
  '@types/node',
  '@types/pg',
  'typescript',
  'jest',
]
const OLDER_TYPESCRIPTS = ['typescript-5.9@npm:typescript@5.9.3', 'typescript-5.4@npm:typescript@5.4.5']

/** Every way in which TypeScript finds a package, with a compiler that has it. */
const RESOLUTIONS = [
  { compiler: 'typescript-5.4', module: 'es2022', moduleResolution: 'node10' },
  { compiler: 'typescript-5.4', module: 'commonjs', moduleResolution: 'node10' },
  { compiler: 'typescript-5.4', module: 'node16', moduleResolution: 'node16' },
  { compiler: 'typescript-5.4', module: 'nodenext', moduleResolution: 'nodenext' },
  { compiler: 'typescript-5.4', module: 'es2022', moduleResolution: 'bundler' },
  { compiler: 'typescript', module: 'nodenext', moduleResolution: 'nodenext' },
  { compiler: 'typescript', module: 'es2022', moduleResolution: 'bundler' },
] as const

/** `consume-once/nestjs` and `/fastify` need their framework. */
const SUB_PATHS = entries()
  .map(({ name }) => `consume-once${name.slice(1)}`)
  .filter((name) => !/nestjs|fastify|prometheus/.test(name))

/** A source of another package: it imports what every package can. */
const OWN_SOURCE = ['source', 'source-places', 'support/log', 'testing-source']
const TESTING = ['testing-handler', 'testing-store', ...OWN_SOURCE]

/** Functions that the code of the README calls and its reader writes. */
const LEFT_TO_THE_READER = `
declare const queue: string, topic: string
declare const kafka: import('kafkajs').Kafka, pool: import('pg').Pool
declare function sendEmail(to: string, request: { signal: AbortSignal }): Promise<void>
`

const JEST_TEST = `
const { defineConsumer, json } = require('consume-once')
const { MemoryBroker, memoryStore, runMemory } = require('consume-once/memory')
const { eachMessage } = require('consume-once/kafkajs')
const { postgresInbox } = require('consume-once/pg')

test('an SMS that is published twice is sent once', async () => {
  expect([typeof eachMessage, typeof postgresInbox]).toEqual(['function', 'function'])
  const sent = []
  const handle = async ({ payload }) => void sent.push(payload.to)
  const sms = defineConsumer({ name: 'sms', id: ({ payload }) => payload.id, decode: json(), store: memoryStore(), handle })
  const broker = new MemoryBroker()
  for (let copy = 0; copy < 2; copy++) broker.publish('sms', { value: Buffer.from('{"id":"1","to":"+1"}') })
  const running = await runMemory(broker, sms, { topic: 'sms', group: 'sms' })
  await broker.drained('sms', 'sms')
  await running.stop()
  expect(sent).toEqual(['+1'])
})
`

const TYPED_CONSUMER = `
import { Kafka } from 'kafkajs'
import { Pool } from 'pg'
import { Redis } from 'ioredis'
import { defineConsumer, json, messageId, type Running } from 'consume-once'
import { runRabbit } from 'consume-once/amqplib'
import { redisLease } from 'consume-once/redis'
import { runKafka } from 'consume-once/kafkajs'
import { postgresInbox } from 'consume-once/pg'
import { describeStoreContract } from 'consume-once/testing'

const payments = defineConsumer({
  name: 'charge-account',
  id: ({ payload }) => payload.paymentId,
  decode: json<{ paymentId: string; cents: number }>(),
  store: postgresInbox({ pool: new Pool() }),
  handle: async ({ payload, tx }) => {
    const { rows } = await tx.query<{ total: number }>('update account set cents = cents - $1', [payload.cents])
    const total: number | undefined = rows[0]?.total
    // @ts-expect-error it is a number
    const text: string = payload.cents
    void [total, text]
  },
})
const doubted = defineConsumer({
  name: 'charge-account',
  store: postgresInbox({ pool: new Pool() }),
  // @ts-expect-error in a transaction nothing is in doubt
  onInDoubt: 'park',
  handle: async ({ tx }) => void (await tx.query('select 1')),
})
const emails = defineConsumer({
  name: 'email-sender',
  id: messageId.property(),
  store: redisLease({ redis: new Redis() }),
  onInDoubt: async (message, key) => (message.headers['key'] === key.trim() ? 'happened' : 'unknown'),
  handle: async ({ idempotencyKey }) => void idempotencyKey.length,
})
export async function run(): Promise<readonly Running[]> {
  const kafka = new Kafka({ brokers: [] })
  return [
    await runKafka(kafka, payments, { topics: ['payments'], group: 'payments' }),
    await runRabbit('amqp://localhost', emails, { queue: 'emails' }),
    await runKafka(kafka, doubted, { topics: ['payments'], group: 'payments' }),
  ]
}
export const contract = describeStoreContract
`

const readme = readFileSync('README.md', 'utf8')
/** Programs, and no options alone. */
const README_CODE = [...readme.matchAll(/```ts\n(import [\s\S]*?)```/g)].map(([, code]) => code ?? '')

const { version, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  version: string
  devDependencies: Record<string, string>
}

describe('the packed package, installed by a stranger', () => {
  const dir = mkdtempSync(join(tmpdir(), 'consume-once-stranger-'))
  const inDir = (file: string, args: readonly string[]): Promise<{ stdout: string }> =>
    run(file, args, { cwd: dir, env: { ...process.env, NODE_OPTIONS: '' } })
  const tarball = join(dir, `consume-once-${version}.tgz`)

  beforeAll(async () => {
    if (GIVEN === undefined) await run('npm', ['run', '--silent', 'pack', '--', dir])
    else copyFileSync(GIVEN, tarball)
    writeFileSync(join(dir, 'package.json'), '{ "type": "module", "private": true }')
    const beside = BESIDE.map((name) => `${name}@${devDependencies[name]}`)
    await inDir('npm', [
      'install',
      '--silent',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      tarball,
      ...beside,
      ...OLDER_TYPESCRIPTS,
    ])
    mkdirSync(join(dir, 'src'))
  }, WITHIN_MS)

  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  it.each(SUB_PATHS)('imports and requires %s, with the names of its source and no others', async (path) => {
    const names = Object.keys(jest.requireActual(path)).toSorted()
    expect(names.length).toBeGreaterThan(0)
    const asked = [
      ['-e', `import('${path}').then((m) => console.log(JSON.stringify(Object.keys(m))))`],
      ['--input-type=commonjs', '-e', `console.log(JSON.stringify(Object.keys(require('${path}'))))`],
    ]
    for (const given of asked) {
      const { stdout } = await inDir('node', given)
      const found = (JSON.parse(stdout) as string[]).filter((name) => name !== 'default' && name !== 'module.exports')
      expect(found.toSorted()).toEqual(names)
    }
  })

  it.each(WITHOUT_ENGINE)('loads %s without the engine', async (name) => {
    const { stdout } = await inDir('node', [
      '--input-type=commonjs',
      '-e',
      `require('consume-once/${name}'); console.log(Object.keys(require.cache).filter((file) => /lib.(?:testing|cli|${ENGINE.join('|')})\\.js$/.test(file)).length)`,
    ])
    expect(stdout).toBe('0\n')
  })

  it('is loaded once by a process that imports and requires it', async () => {
    const { stdout } = await inDir('node', [
      '--input-type=commonjs',
      '-e',
      `import('consume-once').then((imported) => console.log(imported.defineConsumer === require('consume-once').defineConsumer))`,
    ])
    expect(stdout).toBe('true\n')
  })

  it(
    'holds a source of another package against the contract, and sends its dead letters back',
    async () => {
      const own = join(dir, 'own-source')
      mkdirSync(join(own, 'support'), { recursive: true })
      for (const file of OWN_SOURCE) {
        const text = readFileSync(`examples/${file}.ts`, 'utf8')
        const imports = [...text.matchAll(/from '([^']+)'/g)].map(([, from = '']) => from)
        const ours = imports.filter((from) => !/^(?:node:|\.)/.test(from))
        expect(ours.filter((from) => !/^consume-once(?:\/(?:spi|testing|replay|memory))?$/.test(from))).toEqual([])
        writeFileSync(join(own, `${file}.ts`), text)
      }
      const compilerOptions = {
        strict: true,
        outDir: 'out',
        rootDir: '.',
        target: 'es2023',
        lib: ['es2023', 'esnext.disposable'],
        module: 'nodenext',
        rewriteRelativeImportExtensions: true,
        types: ['node'],
      }
      writeFileSync(join(own, 'package.json'), '{ "private": true, "type": "module" }')
      writeFileSync(join(own, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
      await run('node', [join(dir, 'node_modules/typescript/bin/tsc'), '-p', own], { cwd: own })
      const { stdout } = await run('node', ['out/testing-source.js'], {
        cwd: own,
        env: { ...process.env, NODE_OPTIONS: '' },
      })
      expect(stdout).toMatch(/^# fail 0$/m)
      expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThan(15)
    },
    WITHIN_MS,
  )

  it(
    'runs in a Jest project in CommonJS mode, without configuration',
    async () => {
      const project = join(dir, 'jest-project')
      mkdirSync(project)
      writeFileSync(join(project, 'package.json'), '{ "private": true }')
      writeFileSync(join(project, 'sms.test.js'), JEST_TEST)
      const { stderr } = await run(join(dir, 'node_modules/.bin/jest'), ['--rootDir', project], {
        cwd: project,
        env: { ...process.env, NODE_OPTIONS: '' },
      })
      expect(stderr).toContain('Tests:       1 passed')
    },
    WITHIN_MS,
  )

  it.each(RESOLUTIONS)(
    'type-checks a consumer with $compiler, module $module, moduleResolution $moduleResolution',
    async ({ compiler, module, moduleResolution }) => {
      const project = join(dir, `types-${compiler}-${module}-${moduleResolution}`)
      mkdirSync(project)
      writeFileSync(
        join(project, 'package.json'),
        JSON.stringify({ type: module === 'commonjs' ? 'commonjs' : 'module' }),
      )
      writeFileSync(join(project, 'consumer.ts'), TYPED_CONSUMER)
      const target = 'es2022'
      const lib = ['es2023', 'esnext.disposable']
      // The types of some clients do not compile under the older settings.
      const compilerOptions = { strict: true, noEmit: true, skipLibCheck: true, esModuleInterop: true, types: ['node'] }
      writeFileSync(
        join(project, 'tsconfig.json'),
        JSON.stringify({ compilerOptions: { ...compilerOptions, target, lib, module, moduleResolution } }),
      )
      const bin = join(dir, 'node_modules', compiler, 'bin/tsc')
      const { stdout } = await inDir('node', [bin, '-p', project]).catch((error: { stdout: string }) => error)
      expect(stdout).toBe('')
    },
    WITHIN_MS,
  )

  it('wants no client: every peer is optional', () => {
    const manifest = JSON.parse(readFileSync(join(dir, 'node_modules/consume-once/package.json'), 'utf8')) as {
      peerDependenciesMeta: Record<string, { optional: boolean }>
      peerDependencies: Record<string, string>
    }
    for (const peer of Object.keys(manifest.peerDependencies)) {
      expect(manifest.peerDependenciesMeta[peer]).toEqual({ optional: true })
    }
  })

  it.each(['typescript', 'typescript-5.9'])(
    'type-checks the examples, and the code of the README, with %s, strict, without skipLibCheck',
    async (compiler) => {
      // Without the one on PGlite, whose own types do not compile.
      mkdirSync(join(dir, 'src/support'), { recursive: true })
      for (const example of [
        'quick-start',
        'kafka-inbox',
        'rabbitmq-lease',
        'kafka-replay',
        'rabbitmq-replay',
        'replay-from-code',
        ...TESTING,
      ]) {
        writeFileSync(join(dir, 'src', `${example}.ts`), readFileSync(`examples/${example}.ts`))
      }
      expect(README_CODE.length).toBe(2)
      for (const [index, code] of README_CODE.entries()) {
        writeFileSync(join(dir, 'src', `readme-${index}.ts`), code + LEFT_TO_THE_READER)
      }
      for (const file of ['servers.ts', 'notifications.ts']) {
        writeFileSync(join(dir, 'src/support', file), readFileSync(`examples/support/${file}`))
      }
      const compilerOptions = {
        strict: true,
        noEmit: true,
        target: 'es2023',
        lib: ['es2023', 'esnext.disposable'],
        module: 'nodenext',
        skipLibCheck: false,
        exactOptionalPropertyTypes: true,
        allowImportingTsExtensions: true,
        types: ['node'],
      }
      writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }))
      const bin = join(dir, 'node_modules', compiler, 'bin/tsc')
      const { stdout } = await inDir('node', [bin, '-p', '.']).catch((error: { stdout: string }) => error)
      expect(stdout).toBe('')
    },
    WITHIN_MS,
  )

  it('has no markers of mutants', async () => {
    await expect(inDir('grep', ['-rl', ' mutant: ', 'node_modules/consume-once/dist'])).rejects.toMatchObject({
      code: 1,
      stdout: '',
    })
  })

  it(
    'runs its command-line tool',
    async () => {
      const { stdout } = await inDir(join(dir, 'node_modules/.bin/consume-once'), ['--version'])
      expect(stdout.trim()).toBe(version)
      const { stdout: example } = await inDir(join(dir, 'node_modules/.bin/consume-once'), ['demo', '--json'])
      expect(JSON.parse(example)).toMatchObject({ distinct: 8_600, lost: 0, double_effects: 0 })
      const odd = resolve('examples/data/odd-cases.ndjson')
      const { stdout: report } = await inDir(join(dir, 'node_modules/.bin/consume-once'), [
        'demo',
        '--input',
        odd,
        '--json',
      ])
      expect(JSON.parse(report)).toMatchObject({ lost: 0, double_effects: 0 })
    },
    WITHIN_MS,
  )

  it(
    'is well-formed for package managers and for TypeScript',
    async () => {
      await run('npm', ['run', '--silent', 'package:tools'])
      await expect(run('packaging/node_modules/.bin/publint', ['--strict', tarball])).resolves.toBeDefined()
      await expect(run('packaging/node_modules/.bin/attw', [tarball])).resolves.toBeDefined()
    },
    WITHIN_MS,
  )
})
