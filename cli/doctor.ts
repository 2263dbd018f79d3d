import type { Command } from 'commander'
import { doctor, type ConfiguredConsumer, type Diagnosis } from '../src/index.ts'
import { EXIT } from './exit.ts'
import { printJson, printText, table, type Style } from './output.ts'
import { addSessionOptions, runs, type End, type Session, titleOf } from './session.ts'

const EXAMPLES = `
Examples:
  consume-once doctor                    every consumer of the config
  consume-once doctor sms-sender --json  one, for a nightly job

Verdicts: holds; weaker (it holds, except in the case shown); broken; unknown (no right to look; never fine).
Exit code 0: nothing is broken. 1: something is. 2: usage. 4: a store or a broker cannot be reached.`

export function addDoctor(program: Command, end: End): void {
  const command = program
    .command('doctor')
    .description('Checks the guarantee on live servers. Changes nothing.')
    .argument('[consumer]', 'name of a consumer of the config, or group/name (default: all)')
  runs(addSessionOptions(command), end, EXAMPLES, examine)
}

interface Examined {
  readonly entry: ConfiguredConsumer
  readonly diagnosis: Diagnosis
}

async function examine(session: Session, name: string | undefined): Promise<number> {
  const entries = name === undefined ? session.config.consumers : [session.consumer(name)]
  const { timeoutMs } = session
  const examined = await Promise.all(
    entries.map(async (entry) => ({
      entry,
      diagnosis: await doctor(entry.consumer, entry.subscription, { timeoutMs }),
    })),
  )
  if (session.isJson) printJson('doctor', { consumers: examined.map(asJson) })
  else printText(examined.map(asText).join('\n\n'))
  const diagnoses = examined.map(({ diagnosis }) => diagnosis)
  if (diagnoses.some(({ verdict }) => verdict === 'broken')) return EXIT.findings
  return diagnoses.some(({ unreachable }) => unreachable.length > 0) ? EXIT.unreachable : EXIT.ok
}

function asJson({ entry, diagnosis }: Examined): Record<string, unknown> {
  const { strategy, verdict, guarantee, unreachable, findings } = diagnosis
  return {
    consumer: titleOf(entry),
    strategy,
    verdict,
    guarantee,
    unreachable,
    findings,
  }
}

const STYLES: Readonly<Record<string, Style>> = { holds: 'green', weaker: 'yellow', unknown: 'yellow', broken: 'red' }

function asText({ entry, diagnosis }: Examined): string {
  const rows = diagnosis.findings.map(({ verdict, check, found, isServerDefault, meaning }) => [
    verdict,
    check,
    found,
    isServerDefault === true ? "server's default" : '',
    meaning,
  ])
  const findings = table(['VERDICT', 'CHECK', 'FOUND', 'SET BY', 'ADVICE'], rows, (cell) => STYLES[cell])
  return `${titleOf(entry)}: ${diagnosis.verdict}\n\n${diagnosis.guarantee}\n\n${findings}`
}
