export interface BrokerPlace {
  readonly id: number
  readonly port: number
  readonly controllerPort: number
  readonly saslPort?: number
}

/** server.properties of one broker, broker and controller in one process, sized for a small machine. */
export function brokerProperties(
  self: BrokerPlace,
  cluster: readonly BrokerPlace[],
  folder: string,
  more: Readonly<Record<string, string>>,
): string {
  const replicas = String(Math.min(3, cluster.length))
  const inSync = String(Math.min(2, cluster.length))
  const named = self.saslPort === undefined ? '' : `,SASL://127.0.0.1:${self.saslPort}`
  const properties = {
    'process.roles': 'broker,controller',
    'node.id': String(self.id),
    'controller.quorum.voters': cluster.map(({ id, controllerPort }) => `${id}@127.0.0.1:${controllerPort}`).join(','),
    listeners: `PLAINTEXT://127.0.0.1:${self.port},CONTROLLER://127.0.0.1:${self.controllerPort}${named}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${self.port}${named}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': `${folder}/data`,
    'default.replication.factor': replicas,
    'min.insync.replicas': inSync,
    'offsets.topic.replication.factor': replicas,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': inSync,
    'share.coordinator.state.topic.replication.factor': replicas,
    'share.coordinator.state.topic.min.isr': inSync,
    ...BEHAVIOUR,
    ...SMALL,
    ...FAST_FAILOVER,
    ...more,
  }
  return lines(properties)
}

/** @param users - passwords by name */
export function saslUsers(users: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const each = Object.entries(users).map(([name, password]) => ` user_${name}="${password}"`)
  const module = 'org.apache.kafka.common.security.plain.PlainLoginModule'
  return {
    'sasl.enabled.mechanisms': 'PLAIN',
    'listener.name.sasl.plain.sasl.jaas.config': `${module} required${each.join('')};`,
  }
}

/** A misspelt topic must be an error, and a group must form at once, also with short sessions. */
const BEHAVIOUR = {
  'auto.create.topics.enable': 'false',
  'num.partitions': '4',
  'group.initial.rebalance.delay.ms': '0',
  'group.min.session.timeout.ms': '1000',
  'unclean.leader.election.enable': 'false',
}

const SMALL = {
  'offsets.topic.num.partitions': '3',
  'transaction.state.log.num.partitions': '1',
  'num.network.threads': '2',
  'num.io.threads': '2',
  'background.threads': '2',
  'log.cleaner.dedupe.buffer.size': '4194304', // 128 MB of heap by default.
  'log.segment.bytes': '16777216',
}

const FAST_FAILOVER = {
  'broker.session.timeout.ms': '2000',
  'broker.heartbeat.interval.ms': '300',
  'controller.quorum.election.timeout.ms': '500',
  'controller.quorum.fetch.timeout.ms': '1000',
  'controller.quorum.election.backoff.max.ms': '300',
  'controller.quorum.request.timeout.ms': '1000',
  'replica.lag.time.max.ms': '3000',
  'replica.fetch.wait.max.ms': '100',
  'replica.socket.timeout.ms': '3000',
  'log.cleaner.backoff.ms': '500',
  'log.initial.task.delay.ms': '500',
  'log.retention.check.interval.ms': '1000',
}

/** Warnings to the output, which is the broker's log file; and the JVM's option that points to them. */
export function logging(
  loggers: 'log4j2' | 'reload4j',
  file: string,
): { readonly text: string; readonly option: string } {
  return loggers === 'log4j2'
    ? { text: lines(LOG4J2), option: `-Dlog4j2.configurationFile=${file}` }
    : { text: lines(RELOAD4J), option: `-Dlog4j.configuration=file:${file}` }
}

const PATTERN = '%d %p %c{1} %m%n'

const LOG4J2 = {
  'rootLogger.level': 'warn',
  'rootLogger.appenderRef.c.ref': 'C',
  'appender.c.type': 'Console',
  'appender.c.name': 'C',
  'appender.c.layout.type': 'PatternLayout',
  'appender.c.layout.pattern': PATTERN,
}

const RELOAD4J = {
  'log4j.rootLogger': 'WARN, C',
  'log4j.appender.C': 'org.apache.log4j.ConsoleAppender',
  'log4j.appender.C.layout': 'org.apache.log4j.PatternLayout',
  'log4j.appender.C.layout.ConversionPattern': PATTERN,
}

function lines(properties: Readonly<Record<string, string>>): string {
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}
