import type { Beside, Scene } from '../chaos/beside.ts'
import { runChaosOnKafka } from '../chaos/kafka/run.ts'
import type { RunOptions, Soak } from '../chaos/plan.ts'
import { runChaosOnRabbit } from '../chaos/rabbitmq/run.ts'
import type { ChaosRun } from '../chaos/report.ts'
import { seeded } from '../chaos/seeded.ts'
import { together } from '../chaos/together.ts'
import { kafkaVersion } from '../../test/kit/servers/kafka/version.ts'
import { notedVersions } from '../../test/kit/servers/rabbitmq/noted.ts'
import { reportedVersion } from '../../test/kit/servers/reported-version.ts'
import { cutStore } from './cut-store.ts'
import { judgeSamples } from './judge-samples.ts'
import { purgeAgainAndAgain } from './purge.ts'
import type { Sample } from './sample.ts'
import { Sampler } from './sampler.ts'

export type SoakOptions = RunOptions & { readonly soak: Soak }

export interface SoakRun extends ChaosRun {
  readonly evidence: ChaosRun['evidence'] & { readonly samples: readonly Sample[] }
  /** Versions of the servers, by name. */
  readonly versions: Readonly<Record<string, string>>
}

const SAMPLE_EVERY_MS = 2_000
/** Partitions moved, on Kafka: all other faults follow from it. */
const MOVES_PER_MINUTE = 4
/** Longest time until a redelivery or a second send: a freeze, a session timeout, and a backlog. */
const LEAST_RETENTION_MS = 45_000
const RETENTION_PER_MINUTE_MS = 9_000
/** The longest freeze, and a batch of handlers after it. */
const LONGEST_TRANSACTION_MS = 30_000

/** Records of some of the first fifth, whose samples are no measure of growth. */
export function soakOf(minutes: number): Pick<SoakOptions, 'soak' | 'minutes'> {
  const soak = { minutes, retentionMs: Math.max(LEAST_RETENTION_MS, minutes * RETENTION_PER_MINUTE_MS) }
  return { soak, minutes: minutes * 3 + 5 } // A machine that cannot keep pace gets as much again, and more.
}

/** A chaos run at a steady pace, with what an operator would run beside it, sampled all the way. */
export async function runSoak(options: SoakOptions): Promise<SoakRun> {
  const { retentionMs } = options.soak
  const samples: Sample[] = []
  let versions: SoakRun['versions'] = {}
  const beside: Beside = async (scene, until) => {
    versions = await versionsOf(options, scene)
    await using sampler = new Sampler(scene)
    await together([
      sampler.run(SAMPLE_EVERY_MS, until),
      purgeAgainAndAgain(scene, retentionMs, until),
      cutStore(scene, seeded(options.seed, 'store'), until),
    ])
    samples.push(...sampler.samples)
  }
  const run = await play(options, beside)
  const { verdict, evidence } = run
  const violations = [
    ...verdict.violations,
    ...judgeSamples(samples, { retentionMs, longestTransactionMs: LONGEST_TRANSACTION_MS }),
  ]
  return { ...run, verdict: { ...verdict, violations }, evidence: { ...evidence, samples }, versions }
}

function play(options: SoakOptions, beside: Beside): Promise<ChaosRun> {
  const { broker, soak } = options
  switch (broker) {
    case 'kafka':
      return runChaosOnKafka({ ...options, broker, moves: Math.ceil(soak.minutes * MOVES_PER_MINUTE) }, beside)
    case 'rabbitmq':
      return runChaosOnRabbit({ ...options, broker }, beside)
  }
}

async function versionsOf({ broker }: SoakOptions, { postgresUrl, redisUrl }: Scene): Promise<SoakRun['versions']> {
  const reported = await Promise.all([
    reportedVersion('postgres', postgresUrl),
    ...(redisUrl === undefined ? [] : [reportedVersion('redis', redisUrl)]),
  ])
  const stores = reported.map((text) => text.split(' ') as [string, string])
  const ofBroker =
    broker === 'kafka' ? ['Kafka', kafkaVersion()] : ['RabbitMQ', notedVersions().replace('private ', '')]
  return Object.fromEntries([ofBroker, ...stores])
}
