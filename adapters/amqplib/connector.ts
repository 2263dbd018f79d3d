import { ConfigError } from '../../src/index.ts'
import type { AmqpConnectOptions, AmqpConnection } from './slice.ts'

/**
 * How to reach RabbitMQ. A URL, options, or a function that opens a connection (without amqplib's `recovery`): the library
 * opens and closes, as often as needed. `{ connection }` lends it one that stays open: it opens channels of its own there, for deliveries and for dead
 * letters, and waits for it to come back (a recovering connection does) when it closes.
 */
export type RabbitConnect =
  | string
  | AmqpConnectOptions
  | (() => Promise<AmqpConnection>)
  | { readonly connection: AmqpConnection }

export interface Connector {
  /** For people: without a password. */
  readonly where: string
  /** What is borrowed is never closed here, and may come back by itself. */
  readonly isBorrowed: boolean
  open(title: string): Promise<AmqpConnection>
}

/** @throws ConfigError `CONFIG_INVALID` */
export function connectorOf(connect: RabbitConnect): Connector {
  if (typeof connect === 'function')
    return { where: 'the given connection factory', isBorrowed: false, open: () => connect() }
  if (typeof connect === 'object' && connect !== null && 'connection' in connect) {
    return { where: 'the lent connection', isBorrowed: true, open: async () => connect.connection }
  }
  return { where: placeOf(connect), isBorrowed: false, open: (title) => dial(connect, title) }
}

async function dial(to: string | AmqpConnectOptions, title: string): Promise<AmqpConnection> {
  const { connect } = await loadAmqplib()
  const clientProperties = { connection_name: title }
  return connect(to, { timeout: 10_000, noDelay: true, keepAlive: true, clientProperties })
}

async function loadAmqplib(): Promise<typeof import('amqplib')> {
  try {
    return await import('amqplib')
  } catch (cause) {
    throw Object.assign(
      new ConfigError(['amqplib is not installed: run `npm install amqplib`, or give a connection']),
      {
        cause,
      },
    )
  }
}

function placeOf(to: string | AmqpConnectOptions): string {
  if (typeof to === 'string') {
    const url = URL.canParse(to) ? new URL(to) : undefined
    if (url === undefined || !/^amqps?:$/.test(url.protocol)) {
      throw new ConfigError(['connect: expected an amqp:// or amqps:// URL, got text that is none'])
    }
    return `${url.protocol}//${url.host}${url.pathname}`
  }
  if (typeof to !== 'object' || to === null) {
    throw new ConfigError([`connect: expected a URL, options, a function or { connection }, got ${typeof to}`])
  }
  return `${to.protocol ?? 'amqp'}://${to.hostname ?? 'localhost'}:${to.port ?? 'default port'}`
}
