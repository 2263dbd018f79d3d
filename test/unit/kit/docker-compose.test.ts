import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { CATALOGUE, SERVER_NAMES } from '../../kit/servers/catalogue.ts'
import { COMPOSE_FILE } from '../../kit/servers/compose.ts'
import { DEFAULT_KAFKA_VERSION } from '../../kit/servers/kafka/version.ts'

interface Service {
  readonly image: string
  readonly ports: readonly string[]
  readonly environment?: Readonly<Record<string, unknown>>
  readonly healthcheck?: { readonly test?: unknown }
}

const { services } = parse(readFileSync(COMPOSE_FILE, 'utf8')) as { readonly services: Record<string, Service> }
const kafka = services['kafka']?.environment ?? {}

describe('docker-compose.yml', () => {
  it('has the servers of the tests', () => {
    expect(Object.keys(services).toSorted()).toEqual([...SERVER_NAMES].toSorted())
  })

  it.each(Object.entries(services))('pins the version of %s', (_name, { image }) => {
    expect(image).toMatch(/^[a-z/]+:\d+\.\d+(\.\d+)?$/)
  })

  it.each(Object.entries(services))('can tell whether %s is healthy', (_name, { healthcheck }) => {
    expect(healthcheck?.test).toEqual(expect.arrayContaining(['CMD']))
  })

  it.each(Object.entries(services))('publishes %s on loopback only', (_name, { ports }) => {
    expect(ports).not.toHaveLength(0)
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/)
  })

  it.each(SERVER_NAMES)('publishes %s where the tests look for it', (name) => {
    const published = services[name]?.ports.map((port) => port.slice(0, port.lastIndexOf(':'))) ?? []
    const looked = CATALOGUE[name].usual.map((endpoint) => /[\d.]+:\d+/.exec(endpoint.replace(/.*@/, ''))?.[0])
    expect(new Set(looked)).toEqual(new Set(published))
  })

  it('lets Kafka advertise the address it is published on, and listen on the port inside', () => {
    const [host, outside, inside] = services['kafka']?.ports[0]?.split(':') ?? []
    expect(kafka['KAFKA_ADVERTISED_LISTENERS']).toBe(`PLAINTEXT://${host}:${outside}`)
    expect(String(kafka['KAFKA_LISTENERS']).split(',')).toContain(`PLAINTEXT://0.0.0.0:${inside}`)
  })

  it('asks for no more replicas than its one broker can keep', () => {
    const counts = Object.entries(kafka).filter(([name]) =>
      /REPLICATION_FACTOR$|MIN_ISR$|MIN_INSYNC_REPLICAS$/.test(name),
    )
    expect(counts.map(([name]) => name)).toEqual(
      expect.arrayContaining([
        'KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR',
        'KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR',
      ]),
    )
    for (const [name, count] of counts) expect([name, count]).toEqual([name, 1])
  })

  it('runs the Kafka that the tests fetch where there is no Docker', () => {
    expect(services['kafka']?.image).toBe(`apache/kafka:${DEFAULT_KAFKA_VERSION}`)
  })
})
