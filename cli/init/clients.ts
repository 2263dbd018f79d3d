/** A client that `init` writes for: the words that choose it, and its lines in the files. */
export interface Client {
  /** The server, in a word of `--broker` or `--store`. Several clients may share it. */
  readonly server: string
  /** A word of the flag for this client alone. */
  readonly name: string
  /** What package.json calls it. */
  readonly npm: string
  /** Who takes it, where a person is asked. */
  readonly suits: string
  /** The service of docker-compose.yml. */
  readonly service: 'kafka' | 'rabbitmq' | 'postgres' | 'mariadb' | 'redis'
  /** The variable with its address. */
  readonly variable: string
  /** Packages with its types, where it brings none. */
  readonly types?: string
}

/** What a message is about: a payment that is written into a database, or an SMS that a provider sends. */
export type Story = 'payments' | 'sms'

type Lines = (story: Story) => readonly string[]

export interface Broker extends Client {
  /** Where the message ID is, unless the payload has it. */
  readonly id: string
  /** Imports of the module with the consumer. */
  readonly imports: readonly string[]
  /** Makes the client, and `from`. */
  readonly client: Lines
  /** What that module exports of it beside `from`. */
  readonly exported: readonly string[]
  /** The sub-path of the library, and what its functions get. */
  readonly module: string
  readonly run: string
  readonly subscription: string
  readonly connect: string
  /** Makes a topic where the worker does not make its own queue. */
  readonly topic?: { readonly imports: readonly string[]; readonly uses: string; readonly lines: Lines }
  /** The fields of a message for `confirmedPublisher`. */
  readonly message: (story: Story, body: string) => string
}

export interface Store extends Client {
  readonly story: Story
  readonly imports: readonly string[]
  readonly client: readonly string[]
  /** The name of the client. */
  readonly exported: string
  readonly module: string
  readonly store: string
  readonly migrations?: string
  readonly close: string
  /** The statement of the effect, and its table. */
  readonly insert?: string
}

const BROKERS_LINE = "const brokers = (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092').split(',')"
const POSTGRES = 'postgres://postgres:postgres@127.0.0.1:5432/postgres'

/** The first client of a server is taken where package.json has none of it. */
export const BROKERS: readonly Broker[] = [
  {
    server: 'kafka',
    name: 'kafkajs',
    npm: 'kafkajs',
    suits: 'Kafka, by kafkajs',
    service: 'kafka',
    variable: 'KAFKA_BROKERS',
    id: "messageId.header('message-id'), // set by the producer: two messages with the same one are one SMS",
    imports: ["import { Kafka, logLevel } from 'kafkajs'"],
    client: (story) => [
      BROKERS_LINE,
      'export const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING })',
      `export const from = { topics: ['${story}'], group: '${story}' }`,
    ],
    exported: ['kafka'],
    module: 'kafkajs',
    run: 'runKafka',
    subscription: 'kafkaSubscription',
    connect: 'kafka',
    topic: {
      imports: [],
      uses: 'kafka',
      lines: (story) => [
        'const admin = kafka.admin()',
        'await admin.connect()',
        `await admin.createTopics({ topics: [{ topic: '${story}' }] })`,
        'await admin.disconnect()',
      ],
    },
    message: kafkaMessage,
  },
  {
    server: 'kafka',
    name: 'platformatic-kafka',
    npm: '@platformatic/kafka',
    suits: 'Kafka, by @platformatic/kafka',
    service: 'kafka',
    variable: 'KAFKA_BROKERS',
    id: "messageId.header('message-id'), // set by the producer: two messages with the same one are one SMS",
    imports: [
      "import * as platformatic from '@platformatic/kafka'",
      "import { platformaticKafka } from 'consume-once/platformatic-kafka'",
    ],
    client: (story) => [
      BROKERS_LINE,
      `export const client = { clientId: '${story}', bootstrapBrokers: brokers }`,
      'export const kafka = platformaticKafka(platformatic, client)',
      `export const from = { topics: ['${story}'], group: '${story}' }`,
    ],
    exported: ['client', 'kafka'],
    module: 'platformatic-kafka',
    run: 'runKafka',
    subscription: 'kafkaSubscription',
    connect: 'kafka',
    topic: {
      imports: ["import { Admin } from '@platformatic/kafka'"],
      uses: 'client',
      lines: (story) => [
        'const admin = new Admin(client)',
        `await admin.createTopics({ topics: ['${story}'] }).catch(() => {}) // it exists`,
        'await admin.close()',
      ],
    },
    message: kafkaMessage,
  },
  {
    server: 'rabbitmq',
    name: 'amqplib',
    npm: 'amqplib',
    suits: 'RabbitMQ, by amqplib',
    service: 'rabbitmq',
    variable: 'RABBITMQ_URL',
    id: "messageId.property(), // AMQP's messageId: two messages with the same one are one SMS",
    imports: [],
    client: (story) => [
      "export const rabbitUrl = process.env['RABBITMQ_URL'] ?? 'amqp://guest:guest@127.0.0.1:5672'",
      `export const from = { queue: '${story}' }`,
    ],
    exported: ['rabbitUrl'],
    module: 'amqplib',
    run: 'runRabbit',
    subscription: 'rabbitSubscription',
    connect: 'rabbitUrl',
    message: (story, body) => `{ routingKey: '${story}', messageId: '${idOf(story)}', body: Buffer.from(${body}) }`,
  },
]

export const STORES: readonly Store[] = [
  {
    server: 'postgres',
    name: 'pg',
    npm: 'pg',
    suits: 'Postgres, by pg: the effect is a row, and commits with its mark',
    service: 'postgres',
    variable: 'DATABASE_URL',
    types: '@types/pg',
    story: 'payments',
    imports: ["import { Pool } from 'pg'"],
    client: [
      `const databaseUrl = process.env['DATABASE_URL'] ?? '${POSTGRES}'`,
      'export const pool = new Pool({ connectionString: databaseUrl })',
    ],
    exported: 'pool',
    module: 'pg',
    store: 'postgresInbox({ pool })',
    migrations: 'postgresMigrations',
    close: 'pool.end()',
    insert: "tx.query('insert into charges values ($1, $2)', [payload.paymentId, payload.cents])",
  },
  {
    server: 'mysql',
    name: 'mysql2',
    npm: 'mysql2',
    suits: 'MariaDB or MySQL, by mysql2: the effect is a row, and commits with its mark',
    service: 'mariadb',
    variable: 'DATABASE_URL',
    story: 'payments',
    imports: ["import { createPool } from 'mysql2/promise'"],
    client: [
      "const databaseUrl = process.env['DATABASE_URL'] ?? 'mysql://root@127.0.0.1:3306/test'",
      'export const pool = createPool({ uri: databaseUrl })',
    ],
    exported: 'pool',
    module: 'mysql2',
    store: 'mysqlInbox({ pool })',
    migrations: 'mysqlMigrations',
    close: 'pool.end()',
    insert: "tx.execute('insert into charges values (?, ?)', [payload.paymentId, payload.cents])",
  },
  {
    server: 'redis',
    name: 'ioredis',
    npm: 'ioredis',
    suits: 'Redis, by ioredis: the effect is a call, such as to a provider',
    service: 'redis',
    variable: 'REDIS_URL',
    story: 'sms',
    imports: ["import { Redis } from 'ioredis'"],
    client: [
      "export const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379', { lazyConnect: true })",
    ],
    exported: 'redis',
    module: 'redis',
    store: 'redisLease({ redis })',
    close: 'redis.disconnect()',
  },
  {
    server: 'redis',
    name: 'node-redis',
    npm: 'redis',
    suits: 'Redis, by node-redis: the effect is a call, such as to a provider',
    service: 'redis',
    variable: 'REDIS_URL',
    story: 'sms',
    imports: ["import { createClient } from 'redis'"],
    client: [
      "export const redis = createClient({ url: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379' })",
      '// It connects again by itself. Meanwhile the consumer waits, and /readyz says why.',
      "redis.on('error', () => {})",
      'redis.connect().catch(() => {})',
    ],
    exported: 'redis',
    module: 'redis',
    store: 'redisLease({ redis })',
    close: 'redis.destroy()',
  },
]

/** What uses a client of the tables in a handler. */
export const ORMS: readonly string[] = ['drizzle-orm', 'kysely', 'knex', '@prisma/client', 'typeorm']

/** The ID of the message that is sent twice. */
export function idOf(story: Story): string {
  return story === 'payments' ? 'p-1' : 's-1'
}

function kafkaMessage(story: Story, body: string): string {
  return `{ topic: '${story}', messageId: '${idOf(story)}', value: ${body} }`
}
