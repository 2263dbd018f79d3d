import { readFileSync } from 'node:fs'
import { CommanderError } from 'commander'
import { adviceOn } from './advice.ts'
import { loadModulesBy, type LoadModule } from './config-file.ts'
import { CommandError, EXIT } from './exit.ts'
import { say } from './output.ts'
import { behindCommand } from './session.ts'
import { newProgram } from './program.ts'
import { isConsumeOnceError } from '../src/index.ts'
import { adviceOnNoAnswer } from '../src/people/no-answer.ts'

/**
 * The version in the package's manifest: one folder up from the source, two folders up from `dist/lib`, whose parent has
 * only a `type`.
 */
function version(): string {
  for (const path of ['../../package.json', '../package.json']) {
    try {
      const manifest: unknown = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
      const { name, version: found } = manifest as { readonly name?: string; readonly version?: string }
      if (name === 'consume-once' && found !== undefined) return found
    } catch {
      continue
    }
  }
  return 'unknown'
}

/** Runs one command. Returns its exit code. @param words - what stands behind `consume-once` */
export async function runCommand(words: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.ok
  const program = newProgram((code) => {
    exitCode = code
  }).version(version())
  try {
    await program.parseAsync(behindCommand(words), { from: 'user' })
    return exitCode
  } catch (error) {
    return explain(error)
  }
}

/** Prints the error to stderr, and returns its exit code. */
function explain(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (error instanceof CommandError) {
    say(`consume-once: ${error.message}`)
    return error.exitCode
  }
  if (isConsumeOnceError(error)) {
    const advice = adviceOn(error)
    const told = advice ?? adviceOnNoAnswer(error.code)
    say(`consume-once: ${error.code}: ${error.message}${told === undefined ? '' : `. ${told}`}`)
    if (error.code.startsWith('REPLAY')) return EXIT.refused
    return error.code.startsWith('CONFIG') || advice !== undefined ? EXIT.usage : EXIT.unreachable
  }
  say(`consume-once: unexpected, please report it: ${error instanceof Error ? error.stack : String(error)}`)
  return EXIT.findings
}

/** Runs the command that the process was started with, and exits. @param load - loads an ES module, or what else Node can */
export async function runTool(load: LoadModule): Promise<void> {
  loadModulesBy(load)
  // A closed pipe (`| head`) does not end the command.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
  // Clients may keep sockets open after a failure. The result is known, so exit.
  const code = await runCommand(process.argv.slice(2))
  process.stdout.write('', () => process.exit(code))
}
