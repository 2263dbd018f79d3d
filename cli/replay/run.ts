import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { fileJournal, fileReplay } from '../../adapters/file/index.ts'
import type { ConfiguredConsumer } from '../../src/index.ts'
import {
  leftOf,
  replaysOf,
  runReplay,
  type ReplayPlan,
  type RunProgress,
  type RunResult,
  type RunState,
  type Totals,
} from '../../src/replay/index.ts'
import { describeError } from '../../src/internal.ts'
import { agrees, confirm } from '../confirm.ts'
import { EXIT, misuse, refusal } from '../exit.ts'
import { Interrupts } from '../interrupts.ts'
import { printJson, printText, say } from '../output.ts'
import { parsePositive } from '../parse.ts'
import { addDeciderOptions, deciderOf, type DeciderFlags } from '../records/decider.ts'
import { addSessionOptions, runs, type End, type Session, type SessionFlags } from '../session.ts'
import { Meter } from '../meter.ts'
import { parseRate } from './parse.ts'
import { planText } from './plan-text.ts'
import { find } from './replays.ts'

type RunFlags = SessionFlags &
  DeciderFlags & {
    readonly rate?: number
    readonly concurrency?: number
    readonly canary?: number
    readonly stopOnFailures?: number
    readonly quietHours?: string
    readonly treatUnknownAs?: 'handle' | 'skip'
    readonly journal?: string
  }

const CODES = `
Handles what the plan allows, by the consumer's own handler and records: nothing that is done happens again, unless the plan says --again.
The first Ctrl-C lets running handlers end and prints how to resume; the second one ends at once, which is as safe as a crash.

Exit code 0: finished. 1: finished or paused, with failures or messages that were left. 2: usage. 3: refused, or not confirmed. 4: broker or store cannot
be reached. 130, 143: interrupted; resume it.`

const RUN_HELP = `
Examples:
  consume-once replay run plan.json --canary 5 --reason OPS-812         handle five, then look
  consume-once replay run plan.json --rate 20 --stop-on-failures 10 --quiet-hours 21:00-08:00 --reason OPS-812 --yes
${CODES}`

const RESUME_HELP = `
Examples:
  consume-once replay resume 7f3a91c2 --reason OPS-812                  goes on where it ended, also after kill -9
${CODES}`

export function addRun(replay: Command, end: End): void {
  const run = replay
    .command('run')
    .description('Handles what a plan allows.')
    .argument('<plan>', 'the file that `replay plan --out` wrote')
  runs(addRunOptions(run), end, RUN_HELP, runPlan)
  const resume = replay
    .command('resume')
    .description('Goes on with a replay that was paused, interrupted or killed.')
    .argument('<id>', 'ID of the replay, or its first characters')
  runs(addRunOptions(resume), end, RESUME_HELP, resumeReplay)
}

function addRunOptions(command: Command): Command {
  return addSessionOptions(addDeciderOptions(command))
    .option('--rate <per second>', 'messages that begin in a second (default: 20 with a lease store)', parseRate)
    .option('--concurrency <count>', 'messages that run at once', parsePositive)
    .option('--canary <count>', 'handle this many, then pause', parsePositive)
    .option('--stop-on-failures <count>', 'pause after this many failures', parsePositive)
    .option('--quiet-hours <from-to>', 'begin nothing between, such as 21:00-08:00, in local time')
    .addOption(
      new Option('--treat-unknown-as <what>', 'whose record may have been removed').choices(['handle', 'skip']),
    )
    .option('--journal <file>', 'one line for each message (default: <plan>.<id>.journal.ndjson)')
}

function readPlan(path: string): ReplayPlan {
  try {
    const plan: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (typeof plan !== 'object' || plan === null) throw new TypeError(`it has ${JSON.stringify(plan)}`)
    return plan as ReplayPlan
  } catch (cause) {
    throw misuse(`${path}: expected a plan of \`replay plan --out\`: ${describeError(cause)}`, {
      cause,
    })
  }
}

async function runPlan(session: Session, path: string, flags: RunFlags): Promise<number> {
  const plan = readPlan(path)
  const journal = flags.journal ?? `${path.replace(/\.json$/, '')}.${plan.id}.journal.ndjson`
  return start(session, plan, { journal, left: plan.toHandle }, flags)
}

async function resumeReplay(session: Session, id: string, flags: RunFlags): Promise<number> {
  const { works, status } = await find(session, id)
  const state: RunState = await works.state(status.id)
  const journal = flags.journal ?? state.journal.name
  return start(session, state.plan, { journal, left: leftOf(state) }, flags)
}

async function start(
  session: Session,
  plan: ReplayPlan,
  { journal, left }: { readonly journal: string; readonly left: number },
  flags: RunFlags,
): Promise<number> {
  const decider = deciderOf(flags)
  const entry = consumerOf(session, plan)
  await refuseOver(session, entry, plan)
  if (!session.isJson && !flags.yes) say(planText(plan, flags.rate))
  await confirm(`${plan.consumer} ${left}`, flags.yes)
  using interrupts = new Interrupts()
  const { rate, concurrency, canary, stopOnFailures, quietHours, treatUnknownAs: unknown } = flags
  const runOnce = async (first: number | undefined): Promise<RunResult> => {
    const job = runReplay(entry.consumer, entry.subscription, plan, {
      ...decider,
      rate,
      concurrency,
      canary: first,
      stopOnFailures,
      quietHours,
      unknown,
      // A resume may start in another folder.
      journal: fileJournal(resolve(journal)),
      places: [fileReplay()],
    })
    interrupts.signal.addEventListener('abort', () => job.stop())
    const meter = new Meter(!session.isJson)
    for await (const progress of job) meter.show(endedOf(progress), progress.of, progressText(progress))
    meter.end()
    return job.result
  }
  let result = await runOnce(canary)
  tell(session, result)
  if (canary !== undefined && result.status === 'paused' && interrupts.exitCode === undefined) {
    if (!session.isJson && (await agrees('Go on with the rest?'))) {
      result = await runOnce(undefined)
      tell(session, result)
    }
  }
  if (interrupts.exitCode !== undefined) return interrupts.exitCode
  const { failed, parked, left: leftOver } = result.totals
  return failed + parked + leftOver > 0 ? EXIT.findings : EXIT.ok
}

/** Before anything is shown or asked. `runReplay` looks again. */
async function refuseOver(
  session: Session,
  { consumer, subscription }: ConfiguredConsumer,
  { id }: ReplayPlan,
): Promise<void> {
  const known = await session.answer(replaysOf(consumer, subscription).list())
  const over = known.find((replay) => replay.id === id)
  if (over?.status !== 'finished' && over?.status !== 'aborted') return
  const since = new Date(over.endedAt ?? over.savedAt).toISOString()
  throw refusal(
    `replay ${id} is ${over.status} since ${since}: make a new plan; \`replay report ${id}\` tells what became of it`,
  )
}

/** Several groups may have a consumer of this name. */
function consumerOf({ config }: Session, { consumer: name, group }: ReplayPlan): ConfiguredConsumer {
  const entry = config.consumers.find(
    ({ consumer, subscription }) => consumer.name === name && subscription.group === group,
  )
  if (entry !== undefined) return entry
  throw refusal(`the plan is for ${name} of ${group}, which the config does not have`)
}

function endedOf({ totals }: RunProgress): number {
  return Object.values(totals).reduce((sum, count) => sum + count, 0)
}

function progressText({ totals, rate, leftSeconds, waits }: RunProgress): string {
  const left =
    leftSeconds === undefined
      ? ''
      : `  left ${Math.floor(leftSeconds / 60)}:${String(Math.floor(leftSeconds % 60)).padStart(2, '0')}`
  return `${rate.toFixed(1)}/s  ${countsText(totals)}${waits === undefined ? left : `  waits: ${waits}`}`
}

function tell(session: Session, { id, status, because, totals, plan }: RunResult): void {
  if (session.isJson) printJson('replay run', { id, status, because, totals, of: plan.total })
  else {
    printText(`replay ${id}: ${status}${because === undefined ? '' : ` (${because})`}`)
    printText(`  ${countsText(totals)}`)
  }
  if (status === 'paused') say(`Go on: consume-once replay resume ${id} --reason '...'`)
  say(`Each message: consume-once replay report ${id} --format md`)
}

function countsText(totals: Totals): string {
  return Object.entries(totals)
    .filter(([name, count]) => count > 0 || name === 'handled')
    .map(([name, count]) => `${name} ${count.toLocaleString('en')}`)
    .join('  ')
}
