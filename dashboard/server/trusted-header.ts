import { BlockList, isIP } from 'node:net'
import { ConfigError } from '../../src/foundation/errors.ts'
import { checkNames, checkOneOf, givenOf, shown } from '../../src/foundation/option-checks.ts'
import type { Auth } from './options.ts'

export interface TrustedHeaderOptions {
  /** The header in which the proxy names the person, such as `x-forwarded-user`. */
  readonly header: string
  /** Addresses of the proxies, such as `10.0.0.2`, or networks, such as `10.1.0.0/16`. The header of anybody else counts for nothing. */
  readonly proxies: readonly string[]
  /** These persons may not change anything. @defaultValue false */
  readonly readOnly?: boolean
}

/**
 * Persons as a proxy that has logged them in names them. **The proxy must remove this header from what it gets, and set it itself**: else
 * anybody writes a name of his choice into it. For `serveDashboard` and `dashboardListener`; a call of `fetch` must give `client`, the address.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function trustedHeader(options: TrustedHeaderOptions): Auth {
  const given = givenOf(options)
  const { header, proxies, readOnly = false } = given
  const problems: string[] = []
  checkNames('', given, { of: 'trustedHeader()', known: { header, proxies, readOnly } }, problems)
  if (typeof header !== 'string' || !/^[\w-]{1,100}$/.test(header)) {
    problems.push(`header: expected the name of a header, such as x-forwarded-user, got ${shown(header)}`)
  }
  checkOneOf('readOnly', readOnly, [true, false], problems)
  const known = new BlockList()
  if (!Array.isArray(proxies) || proxies.length === 0) problems.push('proxies: expected addresses such as 10.0.0.2')
  else for (const proxy of proxies as readonly unknown[]) addTo(known, proxy, problems)
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `trustedHeader: ${problem}`))
  return (request, { client }) => {
    const address = plain(client ?? '')
    const version = isIP(address)
    if (version === 0 || !known.check(address, version === 4 ? 'ipv4' : 'ipv6')) return undefined
    const by = request.headers.get(header)?.trim() ?? ''
    // Two of them are joined by a comma: then the proxy did not remove the one that it got.
    return by === '' || by.includes(',') ? undefined : { by, readOnly }
  }
}

function addTo(known: BlockList, proxy: unknown, problems: string[]): void {
  const [address = '', bits] = typeof proxy === 'string' ? proxy.split('/') : []
  const version = isIP(address)
  const most = version === 4 ? 32 : 128
  if (version === 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most))) {
    problems.push(`proxies: expected an address such as 10.0.0.2 or a network such as 10.1.0.0/16, got ${shown(proxy)}`)
    return
  }
  const family = version === 4 ? 'ipv4' : 'ipv6'
  if (bits === undefined) known.addAddress(address, family)
  else known.addSubnet(address, Number(bits), family)
}

/** Prefix of an IPv4 address on an IPv6 socket. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}
