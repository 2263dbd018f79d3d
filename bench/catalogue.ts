import type { Suite } from './suite.ts'

/** Every suite by its name. A process loads the one that it runs. */
const SUITES: Readonly<Record<string, () => Promise<Suite>>> = {
  cpu: async () => (await import('./suites/cpu.ts')).cpu,
  kafka: async () => (await import('./suites/kafka.ts')).kafka,
  rabbitmq: async () => (await import('./suites/rabbitmq.ts')).rabbitmq,
  redis: async () => (await import('./suites/redis.ts')).redis,
  postgres: async () => (await import('./suites/postgres.ts')).postgres,
  replay: async () => (await import('./suites/replay.ts')).replay,
  growth: async () => (await import('./suites/growth.ts')).growth,
  memory: async () => (await import('./suites/memory.ts')).memory,
  crash: async () => (await import('./suites/crash.ts')).crash,
  traces: async () => (await import('./suites/traces.ts')).traces,
  metrics: async () => (await import('./suites/metrics.ts')).metrics,
  schemes: async () => (await import('./suites/schemes.ts')).schemesSuite,
  outbox: async () => (await import('./suites/outbox.ts')).outbox,
  latency: async () => (await import('./suites/latency.ts')).latency,
  start: async () => (await import('./suites/start.ts')).start,
}

export const SUITE_NAMES: readonly string[] = Object.keys(SUITES)

export async function loadSuite(name: string): Promise<Suite | undefined> {
  return SUITES[name]?.()
}

export async function allSuites(): Promise<readonly Suite[]> {
  return Promise.all(Object.values(SUITES).map((load) => load()))
}
