import { idOf, type Broker, type Store } from './clients.ts'
import type { Project } from './project.ts'

export interface WrittenFile {
  readonly path: string
  readonly text: string
}

/** What `init` writes: the first one has the consumer, the others use it. */
export function filesOf(project: Project, broker: Broker, store: Store): readonly WrittenFile[] {
  const { folder, extension } = project
  const { story } = store
  const at = (name: string, lines: readonly string[], from: string): WrittenFile => ({
    path: name,
    text: inModules(project, lines.join('\n'), from),
  })
  return [
    at(`${folder}${story}.${extension}`, consumer(project, broker, store), './'),
    at(`${folder}worker.${extension}`, worker(project, broker, store), './'),
    at(`${folder}send-twice.${extension}`, sender(broker, store), './'),
    at(`consume-once.config.${extension}`, config(broker, store), `./${folder}`),
  ]
}

function consumer({ language }: Project, broker: Broker, store: Store): readonly string[] {
  const { story, insert } = store
  const typed = (type: string): string => (language === 'ts' ? `<${type}>` : '')
  const imported = ['defineConsumer', 'json', 'liveSignals', ...(insert === undefined ? ['messageId'] : [])]
  return [
    '// What is consumed, what makes two messages the same, and the effect. It runs nothing: the worker and the config import it.',
    ...broker.imports,
    ...store.imports,
    "import { register } from 'prom-client'",
    `import { ${imported.join(', ')} } from 'consume-once'`,
    `import { ${store.store.replace(/\(.*/, '')} } from 'consume-once/${store.module}'`,
    "import { prometheus } from 'consume-once/prometheus'",
    '',
    ...broker.client(story),
    ...store.client,
    'export const live = liveSignals() // for the dashboard',
    '',
    `export const ${story} = defineConsumer({`,
    ...(insert === undefined ? sms(broker, store, typed) : payment(insert, store, typed)).map(indented),
    '  observe: [',
    '    prometheus({ registry: register }), // counts for /metrics',
    '    live,',
    '    // To look at. In production: log, with pino.',
    '    (event) => {',
    "      if (event.type === 'attempt-failed') console.log('attempt failed:', String(event.error))",
    "      if (event.type !== 'delivery') return",
    '      const { outcome, why, reason, detail } = event',
    '      console.log(outcome, ...[why, reason, detail].filter(Boolean))',
    '    },',
    '  ],',
    '})',
  ]
}

function payment(insert: string, { store }: Store, typed: (type: string) => string): readonly string[] {
  return [
    "name: 'charge-account',",
    `decode: json${typed('{ paymentId: string; cents: number }')}(),`,
    'id: ({ payload }) => payload.paymentId, // two messages with the same ID are one payment',
    `store: ${store},`,
    'handle: async ({ payload, tx }) => {',
    '  // Commits together with the ID, or not at all.',
    `  await ${insert}`,
    '},',
  ]
}

function sms({ id }: Broker, { store }: Store, typed: (type: string) => string): readonly string[] {
  return [
    "name: 'sms-sender',",
    `decode: json${typed('{ to: string }')}(),`,
    `id: ${id}`,
    `store: ${store},`,
    "onInDoubt: 'park', // after a crash between effect and mark a person decides",
    'handle: ({ payload }) => {',
    "  // Your provider's API. No answer, or a 5xx? throw new OutcomeUnknownError(...). Any other throw means: nothing was sent, try again.",
    '  console.log(`SMS to ${payload.to}`)',
    '},',
  ]
}

function worker({ language }: Project, broker: Broker, store: Store): readonly string[] {
  const { story } = store
  const [declared, error] = language === 'ts' ? [': Promise<void> | undefined', ': unknown'] : ['', '']
  return [
    '// The process: consumer, health, metrics, and a stop that loses and repeats nothing, at every moment.',
    "import { register } from 'prom-client'",
    `import { ${broker.run} } from 'consume-once/${broker.module}'`,
    "import { serveHealth } from 'consume-once/health'",
    `import { ${names('from', 'live', broker.connect, store.exported, story)} } from '${story}'`,
    '',
    `let stopping${declared}`,
    'const stop = () => (stopping ??= stopAll())',
    '// Before the start, and a second signal changes nothing: npm and shells may send one twice.',
    "for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void stop())",
    '',
    `const consumers = [${broker.run}(${broker.connect}, ${story}, from)] // without await: they can be stopped while they join`,
    "const port = Number(process.env['PORT'] ?? 9464)",
    'const health = serveHealth(consumers, { port, metrics: register, live }) // GET /readyz, /healthz and /metrics answer while they join',
    '',
    'async function stopAll() {',
    '  // Side by side: handlers finish, marks are written, messages are settled.',
    '  await Promise.allSettled(consumers.map((one) => one.stop({ deadlineMs: 20_000 })))',
    '  await health.then((server) => server.close()).catch(() => {})',
    `  ${store.close.startsWith('pool') ? 'await ' : ''}${store.close} // yours: the library does not close it`,
    '}',
    '',
    "// Each `ready()` rejects with the reason if its start fails. After a stop it resolves, with 'stopped'.",
    `Promise.all([health, ...consumers.map((one) => one.ready())]).catch(async (error${error}) => {`,
    '  console.error(error)',
    '  process.exitCode = 1 // the orchestrator starts the process again',
    '  await stop() // handlers of the other consumers finish first',
    '})',
  ]
}

function sender(broker: Broker, store: Store): readonly string[] {
  const { story, insert } = store
  const { topic } = broker
  const payload = insert === undefined ? "{ to: '+15550100' }" : `{ paymentId: '${idOf(story)}', cents: 1250 }`
  return [
    `// A producer that tries again: it sends one message twice, which ${insert === undefined ? 'is one SMS' : 'is one payment'}.`,
    ...(topic?.imports ?? []),
    `import { confirmedPublisher } from 'consume-once/${broker.module}'`,
    `import { ${names(broker.connect, ...(topic === undefined ? [] : [topic.uses]), store.exported)} } from '${story}'`,
    '',
    'async function main() {',
    ...(topic === undefined && insert === undefined
      ? []
      : ['// So that it runs here. Elsewhere these exist before.']
    ).map(indented),
    ...(insert === undefined
      ? []
      : ["await pool.query('create table if not exists charges (payment varchar(100), cents int)')"]
    ).map(indented),
    ...(topic?.lines(story) ?? []).map(indented),
    `  const publisher = confirmedPublisher(${broker.connect})`,
    `  const message = ${broker.message(story, `JSON.stringify(${payload})`)}`,
    '  await publisher.publish(message)',
    '  await publisher.publish(message)',
    '  await publisher.close()',
    `  ${store.close.startsWith('pool') ? 'await ' : ''}${store.close}`,
    '}',
    'void main()',
  ]
}

function config(broker: Broker, store: Store): readonly string[] {
  const { story, migrations } = store
  return [
    '// For npx consume-once: doctor, why, inspect, redrive and the others read it.',
    "import { defineConfig } from 'consume-once'",
    `import { ${broker.subscription} } from 'consume-once/${broker.module}'`,
    ...(migrations === undefined ? [] : [`import { ${migrations} } from 'consume-once/${store.module}'`]),
    `import { ${names('from', broker.connect, store.exported, story)} } from '${story}'`,
    '',
    'export default defineConfig({',
    `  consumers: [{ consumer: ${story}, subscription: ${broker.subscription}(${broker.connect}, from) }],`,
    ...(migrations === undefined ? [] : [`  migrations: [${migrations}({ pool })],`]),
    `  close: () => ${store.close},`,
    '})',
  ]
}

function names(...given: readonly string[]): string {
  return [...new Set(given)].toSorted().join(', ')
}

function indented(line: string): string {
  return `  ${line}`
}

/** The module of the consumer, imported as the project does it, and CommonJS where the project is written so. */
function inModules({ modules, imported }: Project, text: string, from: string): string {
  const resolved = text.replace(/ from '(payments|sms)'/, ` from '${from}$1.${imported}'`)
  return `${modules === 'esm' ? resolved : asCommonJs(resolved)}\n`
}

function asCommonJs(text: string): string {
  const exported = [...text.matchAll(/^export const (\w+)/gm)].map(([, name = '']) => name)
  const required = text
    .replaceAll(/^import \* as (\w+) from ('.*')$/gm, 'const $1 = require($2)')
    .replaceAll(/^import (\{.*\}) from ('.*')$/gm, 'const $1 = require($2)')
    .replaceAll(/^export (?=const)/gm, '')
    .replace(/^export default /m, 'module.exports = ')
  return exported.length === 0 ? required : `${required}\n\nmodule.exports = { ${names(...exported)} }`
}
