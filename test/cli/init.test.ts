import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, jest } from '@jest/globals'
import { parse } from 'yaml'
import { BROKERS, STORES } from '../../cli/init/clients.ts'
import { filesOf } from '../../cli/init/files.ts'
import { WITHIN_MS } from '../kit/cli-process.ts'
import { InitProject, pairsOf, type Variant } from '../kit/init/project.ts'
import { named, TYPESCRIPT, written } from '../kit/init/files.ts'
import { runsOnServers } from '../kit/init/run.ts'
import { newFolder } from '../kit/servers/private-instance.ts'

const run = promisify(execFile)

jest.setTimeout(WITHIN_MS)

const PAIRS = pairsOf(BROKERS, STORES)
describe('consume-once init', () => {
  it('writes for the only clients of package.json, and says what to run next', async () => {
    await using project = new InitProject('js in a package of type commonjs', [
      'consume-once',
      'amqplib',
      'ioredis',
      'prom-client',
    ])
    const { code, printed } = await project.cli('init')
    expect(code).toBe(0)
    expect(printed).toBe(`Written, for amqplib and ioredis: sms.js, worker.js, send-twice.js, consume-once.config.js

Next:
  docker compose -f node_modules/consume-once/docker-compose.yml up -d --wait rabbitmq redis
  node worker.js
  node send-twice.js

Servers elsewhere: set RABBITMQ_URL and REDIS_URL. Send twice again: one effect, and duplicate.
`)
    expect(project.files).toEqual(['consume-once.config.js', 'send-twice.js', 'sms.js', 'worker.js'])
  })

  it('names what is to be installed, and the page about an ORM', async () => {
    await using project = new InitProject('ts', ['drizzle-orm', '@types/node'])
    const { printed } = await project.init('--broker', 'kafka', '--store', 'postgres')
    expect(printed).toContain(
      '  npm install consume-once kafkajs pg prom-client\n  npm install --save-dev tsx @types/pg\n',
    )
    // The topic is there before the worker, which refuses one that is not.
    expect(printed).toMatch(/node --import tsx send-twice\.ts\n {2}node --import tsx worker\.ts\n/)
    expect(printed).toContain('With drizzle-orm in the handler: node_modules/consume-once/docs/orm.md')
  })

  it.each<[packages: readonly string[], words: readonly string[], says: string]>([
    [
      ['kafkajs', 'amqplib', 'pg'],
      [],
      '--broker: package.json has kafkajs and amqplib: say which, --broker kafka or --broker rabbitmq',
    ],
    [['kafkajs', 'ioredis', 'redis'], [], '--store ioredis or --store node-redis'],
    [['kafkajs', 'ioredis', 'redis', 'pg'], ['--store', 'redis'], '--store ioredis or --store node-redis'],
    [
      ['kafkajs', '@platformatic/kafka', 'pg'],
      ['--broker', 'kafka'],
      '--broker kafkajs or --broker platformatic-kafka',
    ],
    [['kafkajs'], [], '--store postgres or --store mysql or --store redis'],
    [['pg'], [], '--broker: package.json has no client of one: say which, --broker kafka or --broker rabbitmq'],
  ])('of %j with %j it guesses nothing', async (packages, words, says) => {
    await using project = new InitProject('ts', packages)
    const { code, printed } = await project.init(...words)
    expect(printed).toContain(says)
    expect(code).toBe(2)
    expect(project.files).toEqual([])
  })

  it('takes the client that a word names, where package.json has two of a server', async () => {
    await using project = new InitProject('ts', ['kafkajs', 'ioredis', 'redis'])
    expect(await project.init('--store', 'node-redis')).toMatchObject({ code: 0 })
    expect(project.read('sms.ts')).toContain("import { createClient } from 'redis'")
  })

  it('asks on a terminal', async () => {
    await using project = new InitProject('ts', ['kafkajs', 'amqplib', 'pg'])
    const { printed } = await project.onTerminal(['init'], '2\n')
    expect(printed).toContain('1  Kafka, by kafkajs')
    expect(project.read('payments.ts')).toContain('rabbitUrl')
  })

  it('overwrites no file, and writes no other', async () => {
    await using project = new InitProject('ts', ['kafkajs', 'pg'])
    project.write('worker.ts', 'mine')
    const { code, printed } = await project.init()
    expect(printed).toContain('nothing was written: worker.ts exists')
    expect(code).toBe(3)
    expect(project.files).toEqual(['worker.ts'])
    expect(project.read('worker.ts')).toBe('mine')
  })

  it('shows what it would write, and writes nothing', async () => {
    await using project = new InitProject('ts', ['kafkajs', 'pg'])
    const { code, printed } = await project.init('--dry-run')
    expect(code).toBe(0)
    expect(printed).toMatch(/^\/\/ payments\.ts\n[\s\S]*\n\/\/ consume-once\.config\.ts\n/)
    expect(project.files).toEqual([])
  })

  it('wants a package.json that can be read', async () => {
    await using project = new InitProject('js', [])
    project.write('package.json', '{')
    expect(await project.init()).toMatchObject({
      code: 2,
      printed: expect.stringContaining('package.json: expected JSON'),
    })
  })

  it.each<[variant: Variant, compilerOptions: object, files: readonly string[], imported: string]>([
    ['ts', {}, ['consume-once.config.ts', 'payments.ts', 'send-twice.ts', 'worker.ts'], "from './payments.js'"],
    [
      'ts',
      { rewriteRelativeImportExtensions: true },
      ['consume-once.config.ts', 'payments.ts', 'send-twice.ts', 'worker.ts'],
      "from './payments.ts'",
    ],
    [
      'ts in a package of type commonjs',
      {},
      ['consume-once.config.ts', 'payments.ts', 'send-twice.ts', 'worker.ts'],
      "from './payments.js'",
    ],
    // What tsc --init of TypeScript 6 writes into what npm init of npm 11 writes: `import` is an error in a .ts file.
    [
      'ts in a package of type commonjs',
      { verbatimModuleSyntax: true },
      ['consume-once.config.mts', 'payments.mts', 'send-twice.mts', 'worker.mts'],
      "from './payments.mjs'",
    ],
    ['js', {}, ['consume-once.config.js', 'payments.js', 'send-twice.js', 'worker.js'], "from './payments.js'"],
    [
      'js in a package of type commonjs',
      {},
      ['consume-once.config.js', 'payments.js', 'send-twice.js', 'worker.js'],
      "require('./payments.js')",
    ],
  ])('writes %s with %j as the project does', async (variant, compilerOptions, files, imported) => {
    await using project = new InitProject(variant, ['kafkajs', 'pg'])
    if (variant.startsWith('ts')) {
      project.write('base.json', JSON.stringify({ compilerOptions }))
      project.write('tsconfig.json', '{ "extends": "./base", /* https://x */ "include": ["**/*.ts",], }')
    }
    expect(await project.init()).toMatchObject({ code: 0 })
    expect(project.files).toEqual(files)
    expect(project.read(files.find((file) => file.startsWith('worker')) ?? '')).toContain(imported)
  })

  it('writes into src where there is one', async () => {
    await using project = new InitProject('ts', ['kafkajs', 'pg'])
    project.write('src/index.ts', '')
    expect(await project.init()).toMatchObject({ code: 0 })
    expect(project.read('consume-once.config.ts')).toContain("from './src/payments.js'")
    expect(project.read('src/worker.ts')).toContain("from './payments.js'")
  })
})

describe('what init writes', () => {
  const folder = newFolder('init-types')
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  for (const [broker, store] of PAIRS) {
    for (const { path, text } of filesOf(TYPESCRIPT, broker, store)) write(`${broker.name}-${store.name}/${path}`, text)
  }
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const { compilerOptions } = JSON.parse(readFileSync('tsconfig.json', 'utf8')) as {
    readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly string[]>> }
  }
  const paths = Object.fromEntries(
    Object.entries(compilerOptions.paths).map(([name, files]) => [name, files.map((file) => resolve(file))]),
  )

  it('compiles under strict, with every broker and every store', async () => {
    const strict = {
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      noImplicitReturns: true,
      noUnusedLocals: true,
      verbatimModuleSyntax: true,
      declaration: true,
    }
    const how = {
      target: 'es2023',
      module: 'nodenext',
      lib: ['es2023', 'es2024.string', 'esnext.disposable'],
      types: ['node'],
    }
    const here = {
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      experimentalDecorators: true,
      paths,
    }
    write('package.json', '{ "type": "module" }')
    write('tsconfig.json', JSON.stringify({ compilerOptions: { ...strict, ...how, ...here } }))
    await expect(run(resolve('node_modules/.bin/tsc'), ['-p', folder])).resolves.toEqual({ stdout: '', stderr: '' })
  })

  it('has nothing that a linter finds', async () => {
    const { plugins, categories } = JSON.parse(readFileSync('.oxlintrc.json', 'utf8')) as Readonly<
      Record<string, unknown>
    >
    write('.oxlintrc.json', JSON.stringify({ plugins, categories, options: { typeAware: true } }))
    // Named one by one: node_modules is below the same folder.
    const folders = PAIRS.map(([broker, store]) => `${broker.name}-${store.name}`)
    const { stdout } = await run(resolve('node_modules/.bin/oxlint'), ['--deny-warnings', ...folders], { cwd: folder })
    expect(stdout).toContain('0 errors')
    expect(stdout).toContain(`on ${4 * PAIRS.length} files`)
  })

  it.each(PAIRS.map(([broker, store]) => [broker.name, store.name, broker, store] as const))(
    'is short enough to be read whole: %s and %s',
    (_broker, _store, broker, store) => {
      const files = filesOf(TYPESCRIPT, broker, store)
      const lines = files.flatMap(({ text }) => text.split('\n'))
      expect(lines.length).toBeLessThanOrEqual(110)
      expect(files.filter(({ text }) => !text.startsWith('// '))).toEqual([])
    },
  )

  it('starts servers that docker-compose.yml has', () => {
    const { services } = parse(readFileSync('docker-compose.yml', 'utf8')) as { readonly services: object }
    for (const { service } of [...BROKERS, ...STORES]) expect(Object.keys(services)).toContain(service)
  })

  it('has the worker of docs/deploy.md', () => {
    const [, region = ''] =
      /\/\/ #region readme\n([\s\S]*)\/\/ #endregion/.exec(readFileSync('examples/deploy.ts', 'utf8')) ?? []
    const ownLines = /^(?:import |const (?:consumers|health|port) = |$)|closeClients|pool\.end/
    const shared = (text: string): readonly string[] => text.split('\n').filter((line) => !ownLines.test(line))
    expect(shared(written('kafkajs', 'pg').worker).slice(1)).toEqual(shared(region))
  })

  it('runs: kafkajs and pg, in TypeScript', async () => {
    await expect(runsOnServers(named(BROKERS, 'kafkajs'), named(STORES, 'pg'), 'ts')).resolves.toBeUndefined()
  })
})
