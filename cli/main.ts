#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { adviceOn } from './advice.ts'
import { addDemo } from './demo/command.ts'
import { addDoctor } from './doctor.ts'
import { CommandError, EXIT } from './exit.ts'
import { addMigrate } from './migrate.ts'
import { say } from './output.ts'
import { addDecisions } from './records/decide.ts'
import { addInspect } from './records/inspect.ts'
import { addPositions } from './records/positions.ts'
import { addPurge } from './records/purge.ts'
import { isConsumeOnceError } from '../src/index.ts'

/** The package's own file lies one folder higher when this runs from `dist`. */
function version(): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      const { version: found } = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as { version: string }
      return found
    } catch {
      continue
    }
  }
  return 'unknown'
}

async function main(): Promise<number> {
  const program = new Command('consume-once')
    .description('Effectively-once handling for Kafka and RabbitMQ consumers.')
    .version(version())
    .exitOverride()
    .showHelpAfterError('Run it with --help to see what it takes.')
  let exitCode: number = EXIT.ok
  for (const add of [addDemo, addInspect, addDecisions, addPositions, addPurge, addMigrate, addDoctor]) {
    add(program, (code) => {
      exitCode = code
    })
  }
  try {
    await program.parseAsync()
    return exitCode
  } catch (error) {
    return explain(error)
  }
}

/** Says what went wrong on stderr, and gives the exit code for it. */
function explain(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (error instanceof CommandError) {
    say(`consume-once: ${error.message}`)
    return error.exitCode
  }
  if (isConsumeOnceError(error)) {
    const advice = adviceOn(error)
    say(`consume-once: ${error.code}: ${error.message}${advice === undefined ? '' : `. ${advice}`}`)
    return error.code.startsWith('CONFIG') || advice !== undefined ? EXIT.usage : EXIT.unreachable
  }
  say(`consume-once: unexpected, please report it: ${error instanceof Error ? error.stack : String(error)}`)
  return EXIT.findings
}

// Servers' clients may hold sockets open after a failure: the result is known, so end.
const code = await main()
process.stdout.write('', () => process.exit(code))
