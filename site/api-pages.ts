/** What each entry point of the package is for, and the page that introduces it. */
const ENTRY_POINTS: Readonly<Record<string, readonly [forWhat: string, guide: string, title: string]>> = {
  'consume-once': ['consumers, `once()`, errors', 'consumers', 'Define a consumer'],
  kafkajs: ['consumers on Kafka, with kafkajs', 'kafka', 'Kafka'],
  'platformatic-kafka': ['consumers on Kafka, with @platformatic/kafka', 'kafka', 'Kafka'],
  amqplib: ['consumers on RabbitMQ, with amqplib', 'rabbitmq', 'RabbitMQ'],
  pg: ['inbox, leases and stored offsets on Postgres', 'postgres', 'Postgres'],
  mysql2: ['inbox and leases on MariaDB and MySQL', 'mysql', 'MariaDB and MySQL'],
  redis: ['leases on Redis, with a client of ioredis or node-redis', 'redis', 'Redis'],
  guards: ['one atomic step in a handler: rows, versions, states', 'guards', 'Guards'],
  http: ['`Idempotency-Key` for Express, Fastify, Hono and fetch', 'http', 'HTTP Idempotency-Key'],
  nestjs: ['consumers that start and stop with a NestJS application', 'frameworks', 'Frameworks'],
  fastify: ['consumers that start and stop with a Fastify application', 'frameworks', 'Frameworks'],
  lambda: ['events of Amazon MSK and Amazon MQ in AWS Lambda', 'frameworks#aws-lambda', 'AWS Lambda'],
  bullmq: ['jobs of BullMQ', 'frameworks#bullmq', 'BullMQ'],
  'lru-cache': ['a cache in front of a store', 'stores', 'Stores'],
  'rate-limiter-flexible': ['a `limit` that processes share', 'limits', 'Limits of a provider'],
  pino: ['a logger', 'observability', 'Observability'],
  prometheus: ['metrics for prom-client', 'observability', 'Observability'],
  otel: ['metrics and traces for OpenTelemetry', 'observability#traces', 'Traces'],
  health: ['an HTTP server for probes', 'observability', 'Observability'],
  dashboard: ['the dashboard, as a handler of requests', 'dashboard', 'Dashboard'],
  replay: ['plans and runs of replays, dead letters sent back', 'replay', 'Replay'],
  file: ['messages from a file, for a replay', 'replay', 'Replay'],
  memory: ['stores and a broker in memory, for tests and first steps', 'testing', 'Testing'],
  testing: ['contract suites for stores and sources, histories and their checker', 'testing', 'Testing'],
  spi: ['for authors of stores and sources', 'source', 'Write a source'],
}

/** A page of typedoc, with what it is for, and without cells that say nothing. */
export function apiPage(name: string, markdown: string): string {
  const { forWhat, guide } = entryPoint(name)
  return markdown
    .replace(/^# .*$/m, `# ${specifierOf(name)}\n\nFor: ${forWhat}. Guide: ${guide}.`)
    .replaceAll('| `undefined` |', '| |')
}

/** The list of all entry points, in the order of this file. */
export function apiIndex(names: readonly string[]): string {
  for (const name of names) entryPoint(name)
  const rows = Object.keys(ENTRY_POINTS)
    .filter((name) => names.includes(name))
    .map((name) => {
      const { forWhat, guide } = entryPoint(name)
      return `| [${specifierOf(name)}](${name}.md) | ${forWhat} | ${guide} |`
    })
  const head = '| import from | for | guide |\n| --- | --- | --- |'
  return `# API\n\nThe entry points of the package, as their docstrings describe them.\n\n${head}\n${rows.join('\n')}\n`
}

function entryPoint(name: string): { readonly forWhat: string; readonly guide: string } {
  const found = ENTRY_POINTS[name]
  if (found === undefined) throw new TypeError(`site/api-pages.ts does not say what ${specifierOf(name)} is for`)
  const [forWhat, page, title] = found
  return { forWhat, guide: `[${title}](../${page.replace(/(?=#)|$/, '.md')})` }
}

function specifierOf(name: string): string {
  return name === 'consume-once' ? name : `consume-once/${name}`
}
