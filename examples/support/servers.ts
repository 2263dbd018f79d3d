import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'

// Where the examples find their servers, and names of their own on them.

export const kafkaBrokers = (): string[] => (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092').split(',')
export const rabbitUrl = (): string => process.env['RABBITMQ_URL'] ?? 'amqp://guest:guest@127.0.0.1:5672'
export const redisUrl = (): string => process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379'
export const databaseUrl = (): string =>
  process.env['DATABASE_URL'] ?? 'postgres://postgres:postgres@127.0.0.1:5432/postgres'

export const mariadbUrl = (): string => process.env['MARIADB_URL'] ?? 'mysql://root@127.0.0.1:3306/test'

/** A name that nobody else has: topic, queue, group, schema. */
export function ownName(what: string): string {
  return `example_${what}_${randomBytes(4).toString('hex')}`
}

/** Waits until something is so; an example that never gets there fails. */
export async function eventually(condition: () => Promise<boolean>, withinMs: number = 60_000): Promise<void> {
  const giveUpAt = performance.now() + withinMs
  while (!(await condition())) {
    if (performance.now() > giveUpAt) throw new Error(`not so after ${withinMs / 1000} s`)
    await wait(25)
  }
}
