import { describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { startPrivateKafka, type PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { startPrivatePostgres, type PrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { startPrivateRabbit } from '../../test/kit/servers/private-rabbit.ts'
import { runChain } from './chain/chain.ts'

const isWanted = (['kafka', 'rabbitmq', 'postgres'] as const).every((name) => backends.has(name))

let kafka: PrivateKafka
let postgres: PrivatePostgres
let rabbit: Awaited<ReturnType<typeof startPrivateRabbit>>

beforeAllOpen(async (own) => {
  if (!isWanted) return
  const servers = await Promise.all([startPrivateKafka(), startPrivatePostgres(), startPrivateRabbit()])
  ;[kafka, postgres, rabbit] = servers
  for (const server of servers) own(server)
})

const isRestarted = [
  ['services die', false],
  ['services die and Kafka, RabbitMQ and Postgres restart', true],
] as const

;(isWanted ? describe : describe.skip)('a chain of three services, from Kafka to Kafka to RabbitMQ', () => {
  it.each(isRestarted)(
    'loses no order, publishes nothing of what was rolled back, and has each effect once while %s',
    async (_, restarts) => {
      const seed = Math.floor(Math.random() * 2 ** 31)
      const crash = async (): Promise<void> => {
        for (const pid of postgres.pids) process.kill(pid, 'SIGQUIT')
        await postgres.restart()
      }
      const { failures, figures } = await runChain({
        postgres: postgres.url,
        brokers: kafka.brokers,
        rabbitmq: rabbit.url,
        orders: restarts ? 600 : 1_000,
        kills: restarts ? 3 : 8,
        restarts: restarts
          ? [
              { name: 'kafka', restart: () => kafka.restart() },
              { name: 'rabbitmq', restart: () => rabbit.restart() },
              { name: 'postgres', restart: crash },
            ]
          : [],
        seed,
      })
      expect({ seed, figures, failures: failures.slice(0, 20) }).toEqual({ seed, figures, failures: [] })
      expect(figures['repeats']).toBeGreaterThanOrEqual(0)
    },
    300_000,
  )
})
