import { BrokerError, ConfigError, describeError, isConsumeOnceError } from '../../../src/internal.ts'
import { askWhy, type Answer, type Target } from './ask-why.ts'
import { NoAnswerError } from './answer-within.ts'

/** Where a connection leads, for people. `target`: only if the library itself dials. */
interface Place {
  readonly where: string
  readonly target?: Target | undefined
}

/** Why a connection could not be opened, in one sentence, and what to do about it. */
interface Explained {
  /** `lasting`: it stays so until somebody changes address, user or broker, so a start is refused. */
  readonly kind: 'lasting' | 'passing'
  readonly why: string
  readonly advice: string
}

/**
 * The error of a connection that could not be opened, with the advice for it. The only place that reads the errors of
 * sockets, TLS and amqplib's handshake.
 */
export async function openingFailed(error: unknown, place: Place): Promise<unknown> {
  if (isConsumeOnceError(error)) return error
  const { kind, why, advice } = await explained(error, place)
  const options = { cause: error }
  if (kind === 'lasting') {
    return new ConfigError([`RabbitMQ at ${place.where}: ${why}. ${advice}`], 'CONFIG_INVALID', options)
  }
  return new BrokerError('BROKER_UNREACHABLE', `RabbitMQ at ${place.where} cannot be used: ${why}. ${advice}`, options)
}

async function explained(error: unknown, { target }: Place): Promise<Explained> {
  const code = codeOf(error)
  const text = reasonOf(error)
  const known = ofCode(code, text) ?? ofLogin(text, target)
  if (known !== undefined) return known
  const answer = target !== undefined && isUnclear(code, text) ? await askWhy(target) : undefined
  return (answer && ofAnswer(answer, target)) ?? ofHandshake(code, text, target)
}

function lasting(why: string, advice: string): Explained {
  return { kind: 'lasting', why, advice }
}

function passing(why: string, advice: string): Explained {
  return { kind: 'passing', why, advice }
}

const GENERAL = 'Check that it runs, the address, and that the user may log in to that virtual host'
const OWN_CA =
  'Start Node with NODE_EXTRA_CA_CERTS=ca.pem, or pass a function: () => connect(url, { ca: [readFileSync("ca.pem")] })'

const UNKNOWN_ISSUERS = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
])

function ofCode(code: string, text: string): Explained | undefined {
  if (UNKNOWN_ISSUERS.has(code)) {
    return lasting(`expected a certificate of an authority that Node knows, got ${text}`, OWN_CA)
  }
  switch (code) {
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return lasting(
        `expected a certificate for the host of the address, got another (${text.trim()})`,
        'Connect by a name that the certificate has, or issue one for this name',
      )
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return lasting(`expected a valid certificate, got: ${text}`, "Renew the broker's certificate, or set the clock")
    case 'ECONNREFUSED':
      return passing(`nobody listens there (${text})`, 'Check that it runs, host and port (5672; 5671 for amqps)')
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return passing(`its host name cannot be resolved (${text})`, 'Check the name, and the DNS server')
    default:
      break
  }
  if (/wrong version number|packet length too long/i.test(text)) {
    return lasting(
      'expected TLS on that port, got a server that does not speak it',
      'Use amqp:// with this port (usually 5672), or amqps:// with the port of its TLS listener (usually 5671)',
    )
  }
  if (/certificate required|alert number (?:40|42|116)|handshake failure/i.test(text)) {
    const advice = 'Pass a function: () => connect(url, { cert, key, ca })'
    return lasting('the broker refused the TLS handshake; it may want the certificate of a client', advice)
  }
  return undefined
}

function ofLogin(text: string, target: Target | undefined): Explained | undefined {
  if (!/ACCESS.REFUSED/.test(text)) return undefined
  const who = target === undefined ? 'the user' : `user '${target.user}'`
  return lasting(
    `the broker refused the login of ${who}: ${text}`,
    'Check name and password; in a URL percent-encode their special characters. The user guest may log in from the host of the broker only',
  )
}

/** The broker or a stranger closed the connection in the handshake, and amqplib does not say why. */
function isUnclear(code: string, text: string): boolean {
  return code === 'ECONNRESET' || code === 'EPIPE' || /handshake|ConnectionOpenOk|frame/i.test(text)
}

function ofAnswer(answer: Answer, target: Target | undefined): Explained | undefined {
  switch (answer.kind) {
    case 'tls':
      return lasting(
        'expected AMQP on that port, got a server that speaks TLS',
        'Use amqps:// with this port (usually 5671), or amqp:// with the port of its plain listener (usually 5672)',
      )
    case 'http':
      return lasting(
        'expected AMQP on that port, got an HTTP server',
        'The management interface listens on 15672: use the port of AMQP, 5672, or 5671 for amqps',
      )
    case 'refused':
      return target === undefined ? undefined : ofRefusal(answer.text, target)
    case 'opened':
    case 'nothing':
      return undefined
  }
}

function ofRefusal(text: string, { vhost, user }: Target): Explained {
  if (/vhost .* not found/.test(text)) {
    return lasting(
      `expected the virtual host '${vhost}' to exist, got: ${text}`,
      `Create it (rabbitmqctl add_vhost '${vhost}'), or correct the path of the address; the default virtual host / is written %2F, or left out with its slash`,
    )
  }
  if (/limit .* is reached/.test(text)) {
    return passing(text, 'Close other connections, or raise the limit (rabbitmqctl set_vhost_limits, set_user_limits)')
  }
  if (/access to vhost .* refused/.test(text)) {
    return lasting(
      `expected user '${user}' to be allowed to use the virtual host '${vhost}', got: ${text}`,
      `Allow it (rabbitmqctl set_permissions -p '${vhost}' '${user}' '.*' '.*' '.*'), or correct user or path of the address`,
    )
  }
  return passing(text, GENERAL)
}

const LEAST_FRAME = 8_192

function ofHandshake(code: string, text: string, target: Target | undefined): Explained {
  if (/ConnectionOpenOk/.test(text)) {
    const vhost = target === undefined ? 'the virtual host' : `the virtual host '${target.vhost}'`
    return passing(
      `the broker refused ${vhost}`,
      'Check that it exists, that the user has permissions on it, and the limits on connections (rabbitmqctl list_vhosts, list_permissions -p, list_vhost_limits)',
    )
  }
  if (isUnclear(code, text)) {
    const frames =
      target?.frameMax !== undefined && target.frameMax !== 0 && target.frameMax < LEAST_FRAME
        ? ` frameMax is ${target.frameMax}: RabbitMQ 4 closes connections below ${LEAST_FRAME}.`
        : ''
    return passing(
      `the server closed the connection during the handshake (${text})`,
      `It may be starting, or another program may listen there.${frames} ${GENERAL}`,
    )
  }
  return passing(text, GENERAL)
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && !('code' in error)) return codeOf(error.errors[0])
  if (error instanceof NoAnswerError || typeof error !== 'object' || error === null) return ''
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** Text of an error for people. A dual-stack connect wraps the errors in an AggregateError. */
export function reasonOf(error: unknown): string {
  return describeError(error instanceof AggregateError && error.message === '' ? error.errors[0] : error)
}
