import { BlockList, isIP } from 'node:net'
import { flag, listOf, matching, needed, optionsOf, or, where, type Table } from '../../src/foundation/options.ts'
import type { Auth } from './options.ts'

export interface TrustedHeaderOptions {
  /** The header in which the proxy names the person, such as `x-forwarded-user`. */
  readonly header: string
  /** Addresses of the proxies, such as `10.0.0.2`, or networks, such as `10.1.0.0/16`. The header of anybody else counts for nothing. */
  readonly proxies: readonly string[]
  /** These persons may not change anything. @defaultValue false */
  readonly readOnly?: boolean
}

const TRUSTED_HEADER: Table<TrustedHeaderOptions> = {
  header: needed(matching('the name of a header, such as x-forwarded-user', /^[\w-]{1,100}$/)),
  proxies: needed(
    listOf(where('an address such as 10.0.0.2 or a network such as 10.1.0.0/16', isNetwork), { least: 1 }),
  ),
  readOnly: or(false, flag()),
}

/**
 * Persons as a proxy that has logged them in names them. **The proxy must remove this header from what it gets, and set it itself**: else
 * anybody writes a name of his choice into it. For `serveDashboard` and `dashboardListener`; a call of `fetch` must give `client`, the address.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function trustedHeader(options: TrustedHeaderOptions): Auth {
  const { header, proxies, readOnly } = optionsOf('trustedHeader', TRUSTED_HEADER, options)
  const known = new BlockList()
  for (const proxy of proxies) {
    const { address, bits, version } = networkIn(proxy)
    const family = version === 4 ? 'ipv4' : 'ipv6'
    if (bits === undefined) known.addAddress(address, family)
    else known.addSubnet(address, Number(bits), family)
  }
  return (request, { client }) => {
    const address = plain(client ?? '')
    const version = isIP(address)
    if (version === 0 || !known.check(address, version === 4 ? 'ipv4' : 'ipv6')) return undefined
    const by = request.headers.get(header)?.trim() ?? ''
    // Two of them are joined by a comma: then the proxy did not remove the one that it got.
    return by === '' || by.includes(',') ? undefined : { by, readOnly }
  }
}

function networkIn(proxy: unknown): {
  readonly address: string
  readonly bits: string | undefined
  readonly version: number
} {
  const [address = '', bits] = typeof proxy === 'string' ? proxy.split('/') : []
  return { address, bits, version: isIP(address) }
}

function isNetwork(proxy: unknown): boolean {
  const { bits, version } = networkIn(proxy)
  return version !== 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128)))
}

/** Prefix of an IPv4 address on an IPv6 socket. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}
