import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { Option, type Command } from 'commander'
import { EXIT, refusal } from '../exit.ts'
import { printText, say, styled } from '../output.ts'
import type { End } from '../session.ts'
import { chosen, wordsOf } from './choose.ts'
import { BROKERS, ORMS, STORES, type Broker, type Store } from './clients.ts'
import { filesOf, type WrittenFile } from './files.ts'
import { projectIn, type Project } from './project.ts'

interface InitFlags {
  readonly broker?: string
  readonly store?: string
  readonly dryRun: boolean
}

const EXAMPLES = `
Examples:
  consume-once init                                for the clients of package.json; asks if several fit
  consume-once init --broker kafka --store redis   for these servers
  consume-once init --dry-run                      prints the files

TypeScript or JavaScript, ES modules or CommonJS, as package.json and tsconfig.json say. It overwrites no file.

Exit code 0: written or shown. 2: usage, or nobody said which client. 3: refused, a file exists.`

export function addInit(program: Command, end: End): void {
  program
    .command('init')
    .description('Writes a worker with health, metrics and a graceful stop, its config, and a producer to try it.')
    .addOption(new Option('--broker <broker>', 'where messages come from').choices(wordsOf(BROKERS)))
    .addOption(new Option('--store <store>', 'where it is kept what was handled').choices(wordsOf(STORES)))
    .option('--dry-run', 'print the files, and write none', false)
    .addHelpText('after', EXAMPLES)
    .allowExcessArguments(false)
    .action(async (flags: InitFlags) => end(await init(flags)))
}

async function init({ broker: brokerWord, store: storeWord, dryRun }: InitFlags): Promise<number> {
  const project = projectIn(process.cwd())
  const broker = await chosen('--broker', BROKERS, brokerWord, project.packages)
  const store = await chosen('--store', STORES, storeWord, project.packages)
  const files = filesOf(project, broker, store)
  const existing = files.filter(({ path }) => existsSync(path)).map(({ path }) => path)
  if (dryRun) {
    printText(files.map(({ path, text }) => `${styled('bold', `// ${path}`)}\n${text}`).join('\n'))
    if (existing.length > 0) say(`consume-once: without --dry-run this is refused: ${existing.join(', ')} exists`)
    return EXIT.ok
  }
  if (existing.length > 0) {
    throw refusal(`nothing was written: ${existing.join(', ')} exists. Move it away, or look at init --dry-run`)
  }
  for (const file of files) write(file)
  printText(told(project, broker, store, files))
  return EXIT.ok
}

function write({ path, text }: WrittenFile): void {
  if (path.startsWith('src/')) mkdirSync('src', { recursive: true })
  // A file that appeared meanwhile is not overwritten either.
  writeFileSync(path, text, { flag: 'wx' })
}

/** What was written, and the commands that follow. */
function told(project: Project, broker: Broker, store: Store, files: readonly WrittenFile[]): string {
  const [, worker, sender] = files
  const { packages, language } = project
  const run = (file: WrittenFile | undefined): string =>
    `${language === 'ts' ? 'node --import tsx' : 'node'} ${file?.path}`
  const runs = [run(worker), run(sender)]
  const orm = ORMS.find((name) => packages.has(name))
  return [
    `Written, for ${broker.npm} and ${store.npm}: ${files.map(({ path }) => path).join(', ')}`,
    '',
    'Next:',
    ...[
      ...installs(project, broker, store),
      // A worker refuses a topic that does not exist, and makes its queue.
      `docker compose -f node_modules/consume-once/docker-compose.yml up -d --wait ${broker.service} ${store.service}`,
      ...(broker.topic === undefined ? runs : runs.toReversed()),
    ].map((command) => `  ${command}`),
    '',
    `Servers elsewhere: set ${broker.variable} and ${store.variable}. Send twice again: one effect, and ${styled('bold', 'duplicate')}.`,
    ...(orm === undefined || store.insert === undefined
      ? []
      : [`With ${orm} in the handler: node_modules/consume-once/docs/orm.md`]),
  ].join('\n')
}

function installs({ packages, language }: Project, broker: Broker, store: Store): readonly string[] {
  const missing = (names: readonly string[]): readonly string[] => names.filter((name) => !packages.has(name))
  const needed = missing(['consume-once', broker.npm, store.npm, 'prom-client'])
  const types = store.types === undefined ? [] : [store.types]
  const tools = language === 'ts' ? missing(['tsx', '@types/node', ...types]) : []
  return [
    ...(needed.length === 0 ? [] : [`npm install ${needed.join(' ')}`]),
    ...(tools.length === 0 ? [] : [`npm install --save-dev ${tools.join(' ')}`]),
  ]
}
