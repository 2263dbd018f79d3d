// Runs commands of the tool one after the other, each as its own process would. host.ts starts it.
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadModulesBy } from '../../../cli/config-file.ts'
import { runCommand } from '../../../cli/tool.ts'
import { END, type HostedCommand } from './protocol.ts'

const CLOSED_WITHIN_MS = 100

const own = { console: globalThis.console, cwd: process.cwd() }
let runs = 0
// A config reads the environment when it is loaded. What it imports is loaded once, unless jiti loads it.
const { cache: loaded } = createRequire(import.meta.url)
loadModulesBy((url) => import(`${url}?run=${runs}`))

process.on('message', (command: HostedCommand) => void run(command))
process.on('disconnect', () => process.exit())

async function run({ args, env, cwd }: HostedCommand): Promise<void> {
  const before = held()
  runs++
  for (const path of Object.keys(loaded)) if (!path.includes('node_modules')) delete loaded[path]
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
  process.chdir(cwd)
  const exitCode = await runCommand(args)
  // The next command would hear of what this one left open. So it ends as the tool does.
  if (!(await isBackTo(before))) process.exit(exitCode)
  process.chdir(own.cwd)
  globalThis.console = own.console
  process.stdout.write(END)
  process.stderr.write(END)
  process.send?.(exitCode)
}

/** What keeps the process alive, and what listens to it. */
function held(): readonly string[] {
  const listeners = process
    .eventNames()
    .flatMap((name) => Array<string>(process.listenerCount(name)).fill(`on ${String(name)}`))
  return [...process.getActiveResourcesInfo().filter((name) => name !== 'Immediate'), ...listeners]
}

/** A socket that was destroyed is closed some turns later. */
async function isBackTo(before: readonly string[]): Promise<boolean> {
  const until = performance.now() + CLOSED_WITHIN_MS
  for (;;) {
    const left = [...held()]
    for (const name of before) if (left.includes(name)) left.splice(left.indexOf(name), 1)
    if (left.length === 0) return true
    if (performance.now() > until) return false
    await sleep(2)
  }
}
