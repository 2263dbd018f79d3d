import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { Strangers, WITHIN_MS } from './installed.ts'

/** For all projects: they find them above. */
const TOOLS = ['tsx@4.23.15', 'jest@30.5.2', 'typescript@5.9.3']
const BESIDE = ['reflect-metadata@0.2.2', 'rxjs@7.8.2']

/** An application with one handler. It starts it, publishes an SMS twice, and tells what ran and what was sent. */
const APPLICATION = `
import 'reflect-metadata'
import { Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { json } from 'consume-once'
import { MemoryBroker, memoryStore, runMemory } from 'consume-once/memory'
import { ConsumeOnceConsumers, ConsumeOnceModule, HandleOnce } from 'consume-once/nestjs'

const sent: string[] = []

@Injectable()
class Sms {
  @HandleOnce({ name: 'sms', id: ({ payload }: any) => payload.id, startWith: { topic: 'sms', group: 'sms' } })
  async send({ payload }: any) {
    sent.push(payload.to)
  }
}
const broker = new MemoryBroker()
const start = (consumer: any, startWith: any) => runMemory(broker, consumer, startWith)
const defaults = { store: memoryStore(), decode: json() }
@Module({ imports: [ConsumeOnceModule.forRoot({ defaults, start })], providers: [Sms] })
class Application {}

export async function main(): Promise<string> {
  const application = await NestFactory.createApplicationContext(Application, { logger: false, abortOnError: false })
  for (let copy = 0; copy < 2; copy++) broker.publish('sms', { value: Buffer.from('{"id":"1","to":"+1"}') })
  await broker.drained('sms', 'sms')
  const names = [...application.get(ConsumeOnceConsumers).running.keys()]
  await application.close()
  return [...names, ...sent].join(' ')
}
`
const PROGRAM = `
import { main } from './application.js'
void main().then((told) => console.log('told: ' + told))
`
const JEST = {
  module: `
    import { expect, test } from '@jest/globals'
    import { main } from './out/application.js'
    test('sends once', async () => expect(await main()).toBe('sms +1'))
  `,
  commonjs: `
    const { main } = require('./out/application.js')
    test('sends once', async () => expect(await main()).toBe('sms +1'))
  `,
}
const COMPILER_OPTIONS = {
  target: 'es2022',
  module: 'nodenext',
  experimentalDecorators: true,
  outDir: 'out',
  rootDir: '.',
  types: [],
  noCheck: true,
}
const FORMATS = ['module', 'commonjs'] as const

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const canRequireModules = major > 24 || (major === 24 && minor >= 9)

const strangers = new Strangers()
const bin = (name: string): string => `../../node_modules/.bin/${name}`

jest.setTimeout(WITHIN_MS)
beforeAll(async () => {
  await strangers.pack()
  await strangers.install('.', TOOLS)
}, WITHIN_MS)
afterAll(() => strangers[Symbol.dispose]())

describe.each(['10', '11', '12'])('an application of Nest %s', (nest) => {
  beforeAll(async () => {
    await strangers.install(`nest-${nest}`, [`@nestjs/common@${nest}`, `@nestjs/core@${nest}`, ...BESIDE])
    for (const type of FORMATS) {
      const project = `nest-${nest}/${type}`
      strangers.write(`${project}/package.json`, JSON.stringify({ type }))
      strangers.write(`${project}/tsconfig.json`, JSON.stringify({ compilerOptions: COMPILER_OPTIONS }))
      strangers.write(`${project}/jest.config.json`, '{ "transform": {} }')
      strangers.write(`${project}/application.ts`, APPLICATION)
      strangers.write(`${project}/program.ts`, PROGRAM)
      strangers.write(`${project}/application.test.js`, JEST[type])
      await strangers.run(project, bin('tsc'), ['-p', '.'])
    }
  }, WITHIN_MS)

  describe.each(FORMATS)('of the type %s', (type) => {
    const project = `nest-${nest}/${type}`

    it('runs compiled', async () => {
      expect(await strangers.run(project, 'node', ['out/program.js'])).toBe('told: sms +1\n')
    })

    it('runs under tsx', async () => {
      expect(await strangers.run(project, bin('tsx'), ['program.ts'])).toBe('told: sms +1\n')
    })

    it(
      'runs under Jest',
      async () => {
        // Jest requires an ES module from Node 24.9 on: before, it does not load Nest 12 in CommonJS, with this package or without.
        const isLoaded = nest !== '12' || type === 'module' || canRequireModules
        const nodeOptions = type === 'module' ? '--experimental-vm-modules' : ''
        const told = await strangers.run(project, bin('jest'), [], nodeOptions).catch(String)
        expect(told).toContain(isLoaded ? 'Tests:       1 passed' : '@nestjs/common')
        expect(told.includes('Tests:       1 passed')).toBe(isLoaded)
      },
      WITHIN_MS,
    )
  })

  it('finds its consumers where one part of it imports the package and another requires it', async () => {
    const program = `
      const required = require('consume-once/nestjs')
      const { DiscoveryService } = require('@nestjs/core')
      void import('consume-once/nestjs').then(({ ConsumeOnceConsumers, HandleOnce, ConsumeOnceModule }) => {
        const given = ConsumeOnceModule.forRootAsync({ useFactory() {} }).providers[0]
        console.log(
          ConsumeOnceConsumers === required.ConsumeOnceConsumers,
          HandleOnce === required.HandleOnce,
          given.provide === required.ConsumeOnceConsumers,
        )
      })
    `
    expect(await strangers.run(`nest-${nest}`, 'node', ['-e', program])).toBe('true true true\n')
  })
})

describe.each(['otel', 'lru-cache'])('consume-once/%s', (entry) => {
  beforeAll(() => strangers.install(entry, ['@opentelemetry/api@1.9.0', 'lru-cache@11.5.3']), WITHIN_MS)

  it('works in both formats in one process', async () => {
    const program = `
      const { memoryStore } = require('consume-once/memory')
      const store = memoryStore()
      const each = {
        otel: ({ otelTracing, otelMetricProducer }) => [typeof otelTracing(), typeof otelMetricProducer().observe],
        'lru-cache': ({ withDoneCache }) => [withDoneCache(withDoneCache(store, { maxKeys: 9 }), { maxKeys: 9 }).strategy],
      }['${entry}']
      const required = require('consume-once/${entry}')
      void import('consume-once/${entry}').then((imported) => console.log(...each(imported), ...each(required)))
    `
    const told = entry === 'otel' ? 'object function object function' : 'lease lease'
    expect(await strangers.run(entry, 'node', ['-e', program])).toBe(`${told}\n`)
  })
})
