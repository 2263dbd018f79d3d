import { readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { build } from 'esbuild'
import { MOST_BYTES } from '../../test/package/kit/chunks.ts'
import { Strangers, WITHIN_MS } from './installed.ts'

const PROGRAM = `
import { defineConsumer, json } from 'consume-once'
import { MemoryBroker, memoryStore, runMemory } from 'consume-once/memory'

const sent = []
const handle = ({ payload }) => void sent.push(payload.to)
const sms = defineConsumer({ name: 'sms', id: ({ payload }) => payload.id, decode: json(), store: memoryStore(), handle })
async function main() {
  const broker = new MemoryBroker()
  for (let copy = 0; copy < 2; copy++) broker.publish('sms', { value: Buffer.from('{"id":"1","to":"+1"}') })
  const running = await runMemory(broker, sms, { topic: 'sms', group: 'sms' })
  await broker.drained('sms', 'sms')
  await running.stop()
  console.log(sent.join())
}
void main()
`
const ALONE = `export { defineConsumer } from 'consume-once'`

/** The line that docs/frameworks.md gives for ES modules. */
const BANNER = /banner: \{ js: "(.*)" \}/.exec(readFileSync('docs/frameworks.md', 'utf8'))?.[1] ?? ''

const strangers = new Strangers()
const at = (file: string): string => join(strangers.dir, file)

beforeAll(async () => {
  await strangers.pack()
  strangers.write('node_modules/consume-once/README.md', '')
  await strangers.run('node_modules/consume-once', 'tar', ['-xzf', strangers.tarball, '--strip-components=1'])
  strangers.write('program.mjs', PROGRAM)
  strangers.write('alone.mjs', ALONE)
}, WITHIN_MS)
afterAll(() => strangers[Symbol.dispose]())

it.each([
  ['cjs', 'esbuild.cjs', {}],
  ['esm', 'esbuild.mjs', { banner: { js: BANNER } }],
] as const)(
  'a program that esbuild bundled as %s handles an SMS that is published twice once',
  async (format, file, more) => {
    await build({
      entryPoints: [at('program.mjs')],
      bundle: true,
      platform: 'node',
      format,
      outfile: at(file),
      ...more,
    })
    expect(await strangers.run('.', 'node', [file])).toBe('+1\n')
  },
)

it.each([
  ['cjs', 'rolldown.cjs'],
  ['es', 'rolldown.mjs'],
] as const)('a program that rolldown bundled as %s handles it once', async (format, file) => {
  const cli = resolve('packaging/node_modules/rolldown/bin/cli.mjs')
  await strangers.run('.', 'node', [cli, 'program.mjs', '--platform', 'node', '--format', format, '--file', file])
  expect(await strangers.run('.', 'node', [file])).toBe('+1\n')
})

it.each(['esbuild', 'rolldown'] as const)('%s leaves out what defineConsumer does not need', async (bundler) => {
  const outfile = at(`alone-${bundler}.cjs`)
  await (bundler === 'esbuild' ? byEsbuild() : byRolldown())
  expect(statSync(outfile).size).toBeLessThan(MOST_BYTES)
  expect(await strangers.run('.', 'node', ['-p', `typeof require('./alone-${bundler}.cjs').defineConsumer`])).toBe(
    'function\n',
  )

  async function byEsbuild(): Promise<void> {
    const entryPoints = [at('alone.mjs')]
    await build({ entryPoints, bundle: true, platform: 'node', format: 'cjs', minify: true, outfile })
  }
  async function byRolldown(): Promise<void> {
    const cli = resolve('packaging/node_modules/rolldown/bin/cli.mjs')
    await strangers.run('.', 'node', [
      cli,
      'alone.mjs',
      '--platform',
      'node',
      '--format',
      'cjs',
      '--minify',
      '--file',
      outfile,
    ])
  }
})
