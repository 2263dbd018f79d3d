import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

const run = promisify(execFile)
const WITHIN_MS = 300_000

/** What a stranger has beside this package, in the versions that the tests use, and two TypeScripts. */
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
  '@types/node',
  '@types/pg',
  'typescript',
]
const OLDER_TYPESCRIPT = 'typescript-5.9@npm:typescript@5.9.3'

const SUB_PATHS = [
  '',
  '/kafkajs',
  '/amqplib',
  '/ioredis',
  '/lru-cache',
  '/mysql2',
  '/node-redis',
  '/pg',
  '/pino',
  '/testing',
].map((path) => `consume-once${path}`)

const TESTING = ['testing-handler', 'testing-store', 'testing-source']

/** What the README leaves to its reader, and calls in its code. */
const LEFT_TO_THE_READER = `
declare const queue: string, schema: string, topic: string
declare function sendEmail(to: string, request: { idempotencyKey: string; signal: AbortSignal }): Promise<void>
`

const readme = readFileSync('README.md', 'utf8')
const README_CODE = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code ?? '')

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
    await run('npm', ['pack', '--silent', '--pack-destination', dir])
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
      OLDER_TYPESCRIPT,
    ])
    mkdirSync(join(dir, 'src'))
  }, WITHIN_MS)

  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  it('is what was compiled from sources that git knows, documents, and nothing else', async () => {
    const [{ stdout: packed }, { stdout: known }] = await Promise.all([
      run('tar', ['-tzf', tarball]),
      run('git', ['ls-files']),
    ])
    const sources = new Set(known.split('\n'))
    const files = packed
      .split('\n')
      .filter((name) => name !== '')
      .map((name) => name.slice('package/'.length))
    const compiled = files.filter((name) => name.startsWith('dist/'))
    expect(compiled.filter((name) => !/^(?:src|adapters|testing|cli)\//.test(sourceOf(name)))).toEqual([])
    expect(compiled.filter((name) => !sources.has(sourceOf(name)))).toEqual([])
    const others = files.filter((name) => !name.startsWith('dist/'))
    expect(others.filter((name) => !sources.has(name))).toEqual([])
    expect(others.filter((name) => !/^(?:docs|examples)\//.test(name)).toSorted()).toEqual([
      'ARCHITECTURE.md',
      'CONTRIBUTING.md',
      'LICENSE',
      'README.md',
      'package.json',
    ])
  })

  it.each(SUB_PATHS)('imports %s', async (path) => {
    const { stdout } = await inDir('node', ['-e', `import('${path}').then((m) => console.log(Object.keys(m).length))`])
    expect(Number(stdout)).toBeGreaterThan(0)
  })

  it.each(SUB_PATHS)('requires %s', async (path) => {
    const { stdout } = await inDir('node', [
      '--input-type=commonjs',
      '-e',
      `console.log(Object.keys(require('${path}')).length)`,
    ])
    expect(Number(stdout)).toBeGreaterThan(0)
  })

  it('wants no client: every peer is optional', () => {
    const manifest = JSON.parse(readFileSync(join(dir, 'node_modules/consume-once/package.json'), 'utf8')) as {
      peerDependenciesMeta: Record<string, { optional: boolean }>
      peerDependencies: Record<string, string>
    }
    for (const peer of Object.keys(manifest.peerDependencies)) {
      expect(manifest.peerDependenciesMeta[peer]).toEqual({ optional: true })
    }
  })

  it('finds what its README links to', () => {
    const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)[)#]/g)].map(([, path]) => path ?? '')
    expect(links.length).toBeGreaterThan(5)
    for (const path of links) expect(existsSync(join(dir, 'node_modules/consume-once', path))).toBe(true)
  })

  it.each(['typescript', 'typescript-5.9'])(
    'type-checks the examples, and the code of the README, with %s, strict, without skipLibCheck',
    async (compiler) => {
      // Without the one on PGlite, whose own types do not compile.
      for (const example of [
        'quick-start',
        'kafka-inbox',
        'rabbitmq-lease',
        'kafka-replay',
        'rabbitmq-replay',
        ...TESTING,
      ]) {
        writeFileSync(join(dir, 'src', `${example}.ts`), readFileSync(`examples/${example}.ts`))
      }
      expect(README_CODE.length).toBeGreaterThan(2)
      for (const [index, code] of README_CODE.entries()) {
        writeFileSync(join(dir, 'src', `readme-${index}.ts`), code + LEFT_TO_THE_READER)
      }
      mkdirSync(join(dir, 'src/support'), { recursive: true })
      writeFileSync(join(dir, 'src/support/servers.ts'), readFileSync('examples/support/servers.ts'))
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
      await expect(run('node_modules/.bin/publint', ['--strict', tarball])).resolves.toBeDefined()
      await expect(run('node_modules/.bin/attw', [tarball, '--profile', 'esm-only'])).resolves.toBeDefined()
    },
    WITHIN_MS,
  )
})

function sourceOf(compiled: string): string {
  return compiled.replace(/^dist\//, '').replace(/(?:\.d\.ts|\.js)(?:\.map)?$/, '.ts')
}
