/**
 * The text of a destination. `emails`: the queue `emails`, through the default exchange. `orders/eu.created`: the
 * exchange `orders` with the routing key `eu.created`. In names of queues and exchanges `/` is written `%2F` and `%` is
 * written `%25`; a routing key is written as it is.
 */
export interface Destination {
  /** Empty: the default exchange, which routes by queue name. */
  readonly exchange: string
  readonly routingKey: string
}

export function textOfDestination({ exchange, routingKey }: Destination): string {
  return exchange === '' ? escaped(routingKey) : `${escaped(exchange)}/${routingKey}`
}

/** Every text is a destination: an unknown escape stays as it is. */
export function destinationIn(text: string): Destination {
  const end = text.indexOf('/')
  if (end === -1) return { exchange: '', routingKey: unescaped(text) }
  return { exchange: unescaped(text.slice(0, end)), routingKey: text.slice(end + 1) }
}

function escaped(name: string): string {
  return name.replaceAll('%', '%25').replaceAll('/', '%2F')
}

function unescaped(name: string): string {
  return name.replaceAll('%2F', '/').replaceAll('%25', '%')
}
