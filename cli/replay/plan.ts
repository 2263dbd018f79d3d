import { writeFileSync } from 'node:fs'
import { Option, type Command } from 'commander'
import {
  LACKS,
  planReplay,
  durationOf,
  type Lack,
  type PlanOptions,
  type ReplayPlan,
  type ReplayRules,
} from '../../src/replay/index.ts'
import { fileReplay } from '../../adapters/file/index.ts'
import { EXIT } from '../exit.ts'
import { Interrupts } from '../interrupts.ts'
import { printJson, printText, say } from '../output.ts'
import { parsePositive, parseTime, RAW_IDS, readIds } from '../parse.ts'
import { addSessionOptions, runs, type End, type Session, type SessionFlags } from '../session.ts'
import { collect, parsePosition, parseRate } from './parse.ts'
import { Meter } from '../meter.ts'
import { planText } from './plan-text.ts'
import { countedText } from '../../src/core/counted-text.ts'

export interface SelectionFlags {
  readonly since?: number
  readonly until?: number
  readonly idsFrom?: string
  readonly rawIds?: boolean
  readonly where?: readonly string[]
  readonly reasonIs?: readonly string[]
  readonly lookAtMost?: number
  readonly include?: readonly (Lack | 'given-up')[]
}

type PlanFlags = SessionFlags &
  SelectionFlags & {
    readonly from: string
    readonly fromPosition?: bigint
    readonly toPosition?: bigint
    readonly again: boolean
    readonly inDoubt?: ReplayRules['inDoubt']
    readonly treatUnknownAs?: 'handle' | 'skip'
    readonly maxReplays?: number
    readonly groupBy?: string
    readonly rate?: number
    readonly samples: boolean
    readonly out?: string
  }

const HELP = `
Places: kafka:topic, kafka:topic@partition, rabbitmq:queue, file:messages.ndjson as \`kcat -C -e -J\` prints them, - for standard input.

Examples:
  consume-once replay plan sms --from kafka:sms --since 2026-11-01T00:00Z --out plan.json
  consume-once replay plan sms --from kafka:sms --since 24h --group-by '$message.payload#/to' --rate 20
  consume-once replay plan sms --from kafka:sms.dead-letter --reason-is attempts-spent --out plan.json
  consume-once replay plan sms --from file:sms.ndjson --ids-from failed.txt --again --out plan.json

Exit code 0: planned. 1: a run would refuse this plan. 2: usage. 3: the place cannot be read again. 4: broker or store cannot be reached.`

export function addPlan(replay: Command, end: End): void {
  const command = replay
    .command('plan')
    .description('Reads a range again and tells what a replay would do. Changes nothing.')
    .argument('<consumer>', 'name of a consumer of the config, or group/name')
    .requiredOption('--from <place>', 'what is read: kafka:topic, rabbitmq:queue, file:path, -')
    .option('--from-position <position>', 'offset or line of the first message, in each part', parsePosition)
    .option('--to-position <position>', 'offset or line after the last message, in each part', parsePosition)
  addSelectionOptions(command)
    .addOption(
      new Option(
        '--include <what...>',
        'messages that were given up run too; messages that lack what you select by',
      ).choices(['given-up', ...LACKS]),
    )
    .option('--again', 'messages that are done happen AGAIN: their records are forgotten, then they run', false)
    .addOption(new Option('--in-doubt <what>', 'whose effect may have happened').choices(['leave', 'rerun']))
    .addOption(
      new Option('--treat-unknown-as <what>', 'whose record may have been removed').choices(['handle', 'skip']),
    )
    .option('--max-replays <count>', 'a message that was replayed as often is left (default: 2)', parsePositive)
    .option('--group-by <field>', "count the different values of a field: '$message.payload#/to'")
    .option('--rate <per second>', 'tell how long a run takes at this rate', parseRate)
    .option('--samples', 'show up to five messages of each bucket', false)
    .option('--out <file>', 'write the plan, for `replay run`')
  runs(addSessionOptions(command), end, HELP, plan)
}

export function addSelectionOptions(command: Command): Command {
  return command
    .option('--since <time>', 'that arrived at or after: 2026-11-01T00:00Z, or how long ago: 24h', parseTime)
    .option('--until <time>', 'that arrived before', parseTime)
    .option('--ids-from <file>', 'only these message IDs, one a line; - for standard input')
    .option(...RAW_IDS)
    .option(
      '--where <condition>',
      "only if '$message.payload#/tenant=acme' (= != ^= *= |=); repeated: all must hold",
      collect,
    )
    .option('--reason-is <reason>', 'dead letters: only with this reason; may be repeated', collect)
    .option('--look-at-most <count>', 'the most messages to look at', parsePositive)
}

export function selectionOf({ since, until, idsFrom, rawIds, where, reasonIs, include }: SelectionFlags): {
  readonly [K in 'since' | 'until' | 'ids' | 'where' | 'reasons' | 'include']: PlanOptions[K]
} {
  return {
    since,
    until,
    ids: idsFrom === undefined ? undefined : readIds('--ids-from', idsFrom, { isRaw: rawIds === true }),
    where,
    reasons: reasonIs,
    include: include?.filter((what) => what !== 'given-up'),
  }
}

async function plan(session: Session, name: string, flags: PlanFlags): Promise<number> {
  const { consumer, subscription } = session.consumer(name)
  const { again, include, inDoubt, treatUnknownAs, maxReplays } = flags
  const rules: Partial<ReplayRules> = {
    again,
    ...(include?.includes('given-up') === true ? { givenUp: 'handle' } : {}),
    ...(inDoubt === undefined ? {} : { inDoubt }),
    ...(treatUnknownAs === undefined ? {} : { unknown: treatUnknownAs }),
    ...(maxReplays === undefined ? {} : { maxReplays }),
  }
  using interrupts = new Interrupts()
  const { from, fromPosition, toPosition, lookAtMost, groupBy, out } = flags
  const place = from === '-' ? 'file:-' : from
  const job = planReplay(consumer, subscription, {
    ...selectionOf(flags),
    from: place,
    fromPosition,
    toPosition,
    lookAtMost,
    groupBy,
    rules,
    places: [fileReplay()],
  })
  interrupts.signal.addEventListener('abort', () => job.stop())
  const meter = new Meter(!session.isJson)
  for await (const { looked, of } of job) meter.show(looked, of, 'looked at')
  meter.end()
  if (interrupts.exitCode !== undefined) {
    await job.result.catch(() => {})
    return interrupts.exitCode
  }
  const made = await job.result
  if (out !== undefined) writeFileSync(out, `${JSON.stringify(made, undefined, 2)}\n`)
  show(session, made, flags)
  return isRefused(made) ? EXIT.findings : EXIT.ok
}

function show(
  session: Session,
  made: ReplayPlan,
  { rate, out, samples }: Pick<PlanFlags, 'rate' | 'out' | 'samples'>,
): void {
  if (session.isJson) {
    printJson('replay plan', { plan: made, ...(rate === undefined ? {} : { takes_ms: durationOf(made, rate) }) })
  } else printText(planText(made, rate, samples))
  if (isRefused(made)) {
    say(
      `A run refuses this plan: ${countedText(made.buckets.unknown.count, 'message is', 'messages are')} unknown. Say --treat-unknown-as handle or skip.`,
    )
  } else if (out !== undefined && made.toHandle > 0)
    say(`Run it: consume-once replay run ${out} --canary 5 --reason '...'`)
}

function isRefused({ buckets, rules }: ReplayPlan): boolean {
  return buckets.unknown.count > 0 && rules.unknown === 'refuse'
}
