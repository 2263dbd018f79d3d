import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { NEEDED_NODE } from '../../adapters/platformatic-kafka/supported-node.ts'

interface Workflow {
  readonly jobs: {
    readonly test: {
      readonly strategy: {
        readonly matrix: {
          readonly node: readonly number[]
          readonly servers: readonly { readonly kafka: string; readonly rabbitmq: string }[]
        }
      }
    }
  }
}

/** The clients of brokers, by what package.json admits and the workflow of CI is set to run. */
export function brokersText(): string {
  const { peerDependencies: range } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly peerDependencies: Readonly<Record<string, string>>
  }
  const workflow = parse(readFileSync('.github/workflows/ci.yml', 'utf8')) as Workflow
  const { node, servers } = workflow.jobs.test.strategy.matrix
  const [nodes, kafka] = [node.join(', '), servers.map((one) => one.kafka)]
  const rabbit = `RabbitMQ ${servers.map(({ rabbitmq }) => rabbitmq).join(', ')}`
  const withKip848 = kafka.filter((version) => !version.startsWith('3.'))
  const inRange = (name: string): string => (range[name] ?? '').replaceAll('|', '\\|')
  const rows = [
    ['client', 'range', 'Node', 'broker'],
    ['---', '---', '---', '---'],
    ['kafkajs', inRange('kafkajs'), nodes, `Kafka ${kafka.join(', ')}`],
    ['@platformatic/kafka', inRange('@platformatic/kafka'), NEEDED_NODE, `Kafka ${kafka.join(', ')}`],
    ['the same, by KIP-848', '', NEEDED_NODE, `Kafka ${withKip848.join(', ')}`],
    ['amqplib', inRange('amqplib'), nodes, rabbit],
    ['@nestjs/microservices', inRange('@nestjs/microservices'), nodes, 'RabbitMQ, Kafka with kafkajs'],
    ['@golevelup/nestjs-rabbitmq', inRange('@golevelup/nestjs-rabbitmq'), nodes, 'RabbitMQ'],
  ]
  return [
    '## Brokers and their clients',
    'Not part of the runs above: what `package.json` admits, and what the workflow of CI is set to run. The lab runs the packed package with both ends of each range.',
    rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n'),
  ].join('\n\n')
}
