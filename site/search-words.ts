/**
 * What people type, and the page (or the section) that answers it: page without `.md`, with `/` in front. The page need not contain
 * the words. Every entry is searched for in a browser by `lab/site`.
 */
export const SEARCH_WORDS: Readonly<Record<string, readonly string[]>> = {
  '/first-hour': ['tutorial', 'getting started'],
  '/choose': ['which scheme', 'strategy'],
  '/questions/protobuf': ['protobuf'],
  '/questions/avro-with-a-schema-registry': ['avro', 'registry'],
  '/consumers': ['retry', 'backoff', 'schema validation'],
  '/effects': ['in doubt', 'sms', 'payment', 'email'],
  '/faq': ['SETNX', 'unique index', 'overhead'],
  '/protocol#a-message-that-kills-its-process': ['poison message', 'crash loop'],
  '/rabbitmq': ['prefetch', 'quorum queue', 'nack', 'amqplib'],
  '/questions/handlers-longer-than-the-session': ['heartbeat', 'session timeout', 'max poll interval'],
  '/questions/retries-and-dead-letters-on-kafka': ['DLQ', 'DLT'],
  '/questions/duplicates-after-a-rebalance': ['rebalance'],
  '/outbox': ['outbox', 'dual write'],
  '/limits': ['limit', 'rate', 'throttle', '429', 'quota'],
  '/once': ['webhook', 'cron'],
  '/questions/an-sqs-message-once': ['sqs', 'visibility timeout'],
  '/once#one-time-tokens': ['double submit', 'csrf'],
  '/guards': ['mutex', 'optimistic lock'],
  '/http': ['Idempotency-Key', 'express middleware'],
  '/identity': ['content hash', 'fingerprint', 'debounce'],
  '/guards#sequences': ['sequence number', 'high water mark'],
  '/stores': ['TTL', 'retention', 'failover'],
  '/redis': ['noeviction', 'valkey'],
  '/mysql': ['mariadb', 'innodb'],
  '/orm': ['prisma', 'typeorm', 'drizzle', 'knex', 'kysely'],
  '/migrate': ['powertools'],
  '/upgrade': ['upgrade', 'downgrade', 'rollback', 'uninstall', 'remove'],
  '/operations': ['runbook', 'stuck', 'incident'],
  '/replay': ['reprocess', 'backfill', 'reset offsets'],
  '/deploy': ['kubernetes', 'graceful shutdown', 'SIGTERM'],
  '/observability': ['grafana', 'alerts', 'datadog'],
  '/observability#traces': ['opentelemetry spans', 'jaeger'],
  '/testing': ['jest', 'mock', 'fake clock'],
  '/deploy#size': ['capacity', 'memory'],
  '/security': ['gdpr', 'pii', 'encryption'],
  '/frameworks#aws-lambda': ['MSK', 'serverless'],
  '/frameworks': ['nestjs', 'fastify'],
}

/** Words of an entry that point to no page by themselves. */
const COMMON = new Set(['in', 'message', 'which', 'queue', 'number', 'max', 'clock', 'hash', 'loop', 'how', 'spans'])

/** Fields of the index of VitePress, and `words`. */
export const SEARCH_FIELDS: string[] = ['title', 'titles', 'text', 'words']

interface Section {
  readonly id: string
  /** Headings above its own. */
  readonly titles: readonly string[]
  readonly [field: string]: unknown
}

/** What is indexed of a section of a page. The words of a page are those of its first section. */
export function fieldOf(section: Section, field: string): unknown {
  if (field !== 'words') return section[field]
  const page = section.titles.length === 0 ? section.id.replace(/#.*/, '') : section.id
  const words = (SEARCH_WORDS[page] ?? []).flatMap((word) => word.split(' '))
  return words.filter((word) => !COMMON.has(word)).join(' ')
}
