import { startPrivateKafka } from '../../../test/kit/servers/private-kafka.ts'
import { startPrivatePostgres } from '../../../test/kit/servers/private-postgres.ts'
import { startPrivateRabbit } from '../../../test/kit/servers/private-rabbit.ts'
import { startPrivateRedis, type PrivateRedis } from '../../../test/kit/servers/private-redis.ts'
import type { BrokerName } from '../cell.ts'
import { Provider } from '../provider/provider.ts'
import type { BrokerSide } from './broker-side.ts'
import { kafkaSide } from './kafka-side.ts'
import { OwnBroker } from './own-broker.ts'
import { OwnPostgres, SETTINGS } from './own-postgres.ts'
import { PostgresSide } from './postgres-side.ts'
import { rabbitSide } from './rabbit-side.ts'
import { RedisSide } from './redis-side.ts'
import { Spares } from './spares.ts'

/** Private servers of a cell, which its fault hits. */
interface OwnServers {
  readonly broker?: OwnBroker
  readonly postgres?: OwnPostgres
  readonly redis?: { readonly primary: PrivateRedis; readonly replica: PrivateRedis | undefined }
}

/** The servers of a cell: shared servers, on which it has places of its own, and private servers for its fault. */
export interface Stage {
  readonly own: OwnServers
  readonly spares: Readonly<Record<BrokerName, Spares<OwnBroker>>> & { readonly postgres: Spares<OwnPostgres> }
  readonly provider: Provider
  readonly postgres: PostgresSide
  readonly redis: RedisSide
  broker(name: BrokerName): BrokerSide
}

/** Limit for each kind of server. */
const MOST_SPARES = 2

/** Stops all servers after `act`. */
export async function withStage<T>(brokers: ReadonlySet<BrokerName>, act: (stage: Stage) => Promise<T>): Promise<T> {
  const starting = {
    provider: Provider.start(),
    postgres: startPrivatePostgres({ settings: SETTINGS }),
    redis: startPrivateRedis(),
    rabbit: brokers.has('rabbitmq') ? startPrivateRabbit() : Promise.resolve(undefined),
    kafka: brokers.has('kafka') ? startPrivateKafka() : Promise.resolve(undefined),
  }
  await Promise.allSettled(Object.values(starting))
  await using provider = await starting.provider
  await using postgresServer = await starting.postgres
  await using redisServer = await starting.redis
  await using rabbitServer = await starting.rabbit
  await using kafkaServer = await starting.kafka
  await using postgres = await PostgresSide.open(postgresServer.url)
  await using redis = await RedisSide.open(redisServer.url)
  await using rabbit = rabbitServer && (await rabbitSide(rabbitServer.url))
  await using kafka = kafkaServer && (await kafkaSide(kafkaServer.brokers))
  await using rabbits = new Spares(MOST_SPARES, () => OwnBroker.start('rabbitmq'))
  await using kafkas = new Spares(MOST_SPARES, () => OwnBroker.start('kafka'))
  await using postgreses = new Spares(MOST_SPARES, () => OwnPostgres.start('alone'))
  const sides: Readonly<Record<BrokerName, BrokerSide | undefined>> = { rabbitmq: rabbit, kafka }
  return await act({
    own: {},
    spares: { rabbitmq: rabbits, kafka: kafkas, postgres: postgreses },
    provider,
    postgres,
    redis,
    broker: (name) => {
      const side = sides[name]
      if (side === undefined) throw new TypeError(`this stage has no ${name}`)
      return side
    },
  })
}
