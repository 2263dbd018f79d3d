import { unescape } from 'node:querystring'
import { ConfigError } from '../../../src/internal.ts'
import type { AmqpConnectOptions, AmqpConnection } from '../amqplib-like.ts'
import type { Target } from './ask-why.ts'

/**
 * How to reach RabbitMQ. With a URL, options, or a function that opens a connection (without amqplib's `recovery`), the
 * library opens and closes connections as needed. With `{ connection }` it uses a connection that stays open: it opens
 * its own channels there, for deliveries and for dead letters, and when the connection closes it waits until it comes
 * back, as a recovering connection does.
 *
 * `heartbeat`, in seconds, in the options or in the query of the URL (`amqp://host?heartbeat=30`): a connection that
 * dies silently is noticed after two to three heartbeats, and `health()` says ready until then. The broker also closes
 * a connection that is silent for two heartbeats, so do not block the event loop that long. 0: this side sends none.
 * @defaultValue 15; on connections that you open, the value agreed with the server
 */
export type RabbitConnect =
  | string
  | AmqpConnectOptions
  | (() => Promise<AmqpConnection>)
  | { readonly connection: AmqpConnection }

/** The server's default of 60 s would leave a dead connection unnoticed for minutes. */
const HEARTBEAT_S = 15

const CONNECTION = "what amqplib's connect() resolves with"
const LEND_IT = `pass { connection }, with ${CONNECTION}`

export interface Connector {
  /** For people, without a password. */
  readonly where: string
  /** Equal only if two connectors certainly lead to the same virtual host of the same broker. */
  readonly place: unknown
  /** A borrowed connection is never closed here, and may come back on its own. */
  readonly isBorrowed: boolean
  /** Only if the library itself dials. */
  readonly target?: Target
  open(title: string): Promise<AmqpConnection>
}

/** @throws ConfigError `CONFIG_INVALID` */
export function connectorOf(connect: RabbitConnect): Connector {
  if (typeof connect === 'function') {
    const open = async (): Promise<AmqpConnection> => opened(await connect())
    return { where: 'the given connection factory', place: connect, isBorrowed: false, open }
  }
  if (isConnection(connect) || hasMethod(connect, 'consume')) {
    const got = isConnection(connect) ? 'a connection itself' : 'a channel'
    throw new ConfigError([`connect: expected a URL, options, a function or { connection }, got ${got}: ${LEND_IT}`])
  }
  if (typeof connect === 'object' && connect !== null && 'connection' in connect) {
    const { connection } = connect
    if (!isConnection(connection)) {
      throw new ConfigError([`connect.connection: expected ${CONNECTION}, got ${kindOf(connection)}`])
    }
    const place = placeOfConnection(connection)
    return { where: 'the lent connection', place, isBorrowed: true, open: async () => connection }
  }
  const where = whereOf(connect)
  const target = targetOf(connect)
  return { where, place: placeOf(target), isBorrowed: false, target, open: (title) => dial(connect, title) }
}

/** @throws ConfigError if the factory resolved with something else than a connection */
function opened(connection: unknown): AmqpConnection {
  if (isConnection(connection)) return connection
  throw new ConfigError([`connect: expected a function that resolves with ${CONNECTION}, got ${kindOf(connection)}`])
}

function isConnection(value: unknown): value is AmqpConnection {
  return hasMethod(value, 'createChannel') && hasMethod(value, 'createConfirmChannel')
}

function hasMethod(value: unknown, name: string): boolean {
  if (typeof value !== 'object' || value === null) return false
  return typeof (value as Readonly<Record<string, unknown>>)[name] === 'function'
}

/** The kind of a wrong value, for the error message. */
function kindOf(value: unknown): string {
  if (hasMethod(value, 'then')) return 'a promise: await it'
  if (hasMethod(value, 'consume')) return 'a channel'
  return value === null ? 'null' : typeof value
}

async function dial(to: string | AmqpConnectOptions, title: string): Promise<AmqpConnection> {
  const { connect } = await loadAmqplib()
  const clientProperties = { connection_name: title }
  return connect(withHeartbeat(to), { timeout: 10_000, noDelay: true, keepAlive: true, clientProperties })
}

function withHeartbeat(to: string | AmqpConnectOptions): string | AmqpConnectOptions {
  if (typeof to !== 'string') return { ...to, heartbeat: to.heartbeat ?? HEARTBEAT_S }
  const url = new URL(to)
  if (url.searchParams.has('heartbeat')) return to
  url.search += `${url.search === '' ? '?' : '&'}heartbeat=${HEARTBEAT_S}`
  return url.href
}

async function loadAmqplib(): Promise<typeof import('amqplib')> {
  try {
    return await import('amqplib')
  } catch (cause) {
    throw new ConfigError(
      ['amqplib is not installed: run `npm install amqplib`, or give a connection'],
      'CONFIG_INVALID',
      { cause },
    )
  }
}

function whereOf(to: string | AmqpConnectOptions): string {
  if (typeof to === 'string') {
    const url = URL.canParse(to) ? new URL(to) : undefined
    if (url === undefined || !/^amqps?:$/.test(url.protocol)) {
      throw new ConfigError(['connect: expected an amqp:// or amqps:// URL, got text that is none'])
    }
    return `${url.protocol}//${url.host}${url.pathname}`
  }
  if (typeof to !== 'object' || to === null || hasMethod(to, 'then')) {
    throw new ConfigError([`connect: expected a URL, options, a function or { connection }, got ${kindOf(to)}`])
  }
  return `${to.protocol ?? 'amqp'}://${to.hostname ?? 'localhost'}:${to.port ?? 'default port'}`
}

/**
 * The connection object that all channels of a connection share. A recovering connection has a new one after each
 * recovery.
 */
export function placeOfConnection(owner: { readonly connection?: unknown }): unknown {
  return owner.connection ?? owner
}

/** Without user and protocol, which do not distinguish queues. */
function placeOf({ host, port, vhost }: Target): string {
  return `${host.toLowerCase()}:${port}/${vhost}`
}

/** Parsed as amqplib does. */
function targetOf(to: string | AmqpConnectOptions): Target {
  const { protocol, hostname, port, vhost, username, password, frameMax } =
    typeof to === 'string' ? partsOf(new URL(to)) : to
  const isTls = protocol === 'amqps'
  const isGuest = username === undefined && password === undefined
  return {
    isTls,
    host: (hostname || 'localhost').replaceAll(/^\[|\]$/g, ''),
    port: port || (isTls ? 5671 : 5672),
    vhost: unescape(vhost || '/'),
    user: isGuest ? 'guest' : (username ?? ''),
    password: isGuest ? 'guest' : (password ?? ''),
    frameMax,
  }
}

function partsOf({ protocol, hostname, port, pathname, username, password, searchParams }: URL): AmqpConnectOptions {
  const frameMax = searchParams.get('frameMax')
  return {
    protocol: protocol.slice(0, -1),
    hostname,
    port: Number(port),
    vhost: pathname.slice(1),
    ...(username === '' && password === '' ? {} : { username: unescape(username), password: unescape(password) }),
    ...(frameMax === null ? {} : { frameMax: Number(frameMax) }),
  }
}
