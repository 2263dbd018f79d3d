import { Option, type Command } from 'commander'
import { EXIT, misuse } from '../exit.ts'
import { printJson, printText, table } from '../output.ts'
import type { End } from '../session.ts'
import { bytesText, countText, parseBytes, parseRate, parseRetention, parseShare, parseSpan } from './amounts.ts'
import { BROKERS, COSTS, STORES, type BrokerName, type StoreName } from './costs.ts'
import type { Load } from './load.ts'
import { costsOf, sizeOf, type Line, type Size } from './size.ts'

interface SizeFlags {
  readonly rate: number
  readonly duplicates: number
  readonly retention: number
  readonly payload: number
  readonly handler: number
  readonly store: StoreName
  readonly broker: BrokerName
  readonly batch: boolean
  readonly redisMemory: number
  readonly databaseDisk: number
  readonly json: boolean
}

const EXAMPLES = `
Examples:
  consume-once size --rate 1000 --duplicates 20% --handler 20ms                     leases in Redis, on Kafka
  consume-once size --rate 2000 --store postgresInbox --retention 2d                is one Postgres enough?
  consume-once size --rate 9000 --store postgresInbox --batch --broker rabbitmq --json

It asks no server and reads no config. Each figure names the record that it is computed from.

Exit code 0: one server serves this, or its limit was not recorded. 1: one server does not; what then is said. 2: usage.`

const KB = 1_024
const WEEK_MS = 7 * 86_400_000

export function addSize(program: Command, end: End): void {
  program
    .command('size')
    .description('Computes memory, disk, writes, slots and processes for a load, from recorded costs.')
    .requiredOption('--rate <n>', 'deliveries a second, duplicates included', parseRate)
    .addOption(taking('--duplicates <percent>', 'part of them that are duplicates', parseShare, 0, '0%'))
    .addOption(taking('--retention <time>', 'retentionMs of the consumer', parseRetention, WEEK_MS, '7d'))
    .addOption(taking('--payload <size>', 'of a message', parseBytes, KB, '1KiB'))
    .addOption(taking('--handler <time>', 'how long it takes; with --batch for a batch', parseSpan, 10, '10ms'))
    .addOption(new Option('--store <store>', 'where records live').choices(STORES).default('redisLease'))
    .addOption(new Option('--broker <broker>', 'where messages come from').choices(BROKERS).default('kafka'))
    .option('--batch', 'an inbox with handleBatch', false)
    .addOption(taking('--redis-memory <size>', 'what one Redis has', parseBytes, 64e9, '64GB'))
    .addOption(taking('--database-disk <size>', 'what one database has', parseBytes, 1e12, '1TB'))
    .option('--json', 'one JSON object on stdout, and nothing else there', false)
    .addHelpText('after', EXAMPLES)
    .allowExcessArguments(false)
    .action((flags: SizeFlags) => end(show(flags)))
}

function taking(
  flags: string,
  what: string,
  parse: (text: string) => number,
  otherwise: number,
  shown: string,
): Option {
  return new Option(flags, what).argParser(parse).default(otherwise, shown)
}

function show(flags: SizeFlags): number {
  if (flags.batch && COSTS[flags.store].handleBatch === undefined) {
    throw misuse(
      `--batch: expected a store that is an inbox, such as postgresInbox, got ${flags.store}: a lease has no handleBatch`,
    )
  }
  const load: Load = {
    rate: flags.rate,
    duplicates: flags.duplicates,
    retentionMs: flags.retention,
    payloadBytes: flags.payload,
    handlerMs: flags.handler,
    store: flags.store,
    broker: flags.broker,
    isBatch: flags.batch,
    memoryBytes: flags.redisMemory,
    diskBytes: flags.databaseDisk,
  }
  const size = sizeOf(load)
  if (flags.json) printJson('size', { load, ...size })
  else printText(asText(load, size))
  return size.serves === false ? EXIT.findings : EXIT.ok
}

function asText(load: Load, size: Size): string {
  const sources = [...new Set(size.lines.flatMap(({ from }) => from))]
  const rows = size.lines.map((line) => [
    line.name,
    valueText(line),
    line.how,
    line.from.map((from) => `[${sources.indexOf(from) + 1}]`).join(' '),
  ])
  return [
    table(['', 'WANTED', 'HOW', 'FROM'], rows),
    '',
    ...verdict(load, size),
    ...size.notes,
    '',
    ...sources.map((from, at) => `[${at + 1}] ${from}`),
  ].join('\n')
}

function verdict(load: Load, { limit, serves }: Size): readonly string[] {
  const { server } = costsOf(load)
  if (limit === undefined) return [`Where one ${server} ends was not recorded.`]
  const most = `${countText(limit.rate)} messages a second: ${limit.how}.`
  const first =
    serves === true
      ? `One ${server} serves this, up to ${most}`
      : `One ${server} does not serve this: it ends at ${most}`
  return [first, serves === true ? 'Beyond that:' : 'Instead:', ...limit.beyond.map((what) => `- ${what}`)]
}

function valueText({ value, unit }: Line): string {
  if (value === undefined) return 'not recorded'
  if (unit === 'bytes') return bytesText(value)
  if (unit === 'bytes a second') return `${bytesText(value)}/s`
  return `${countText(value)}${unit === 'a second' ? '/s' : ''}`
}
