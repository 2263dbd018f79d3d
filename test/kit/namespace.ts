import { randomBytes } from 'node:crypto'

/**
 * A name no other test has, for a topic, queue, key prefix, schema or group. Lower case letters, digits and `_` only,
 * so that it needs no quoting anywhere; `prefix` must keep to these too.
 */
export function uniqueName(prefix: string): string {
  if (!/^[a-z][a-z0-9_]{0,39}$/.test(prefix)) {
    throw new TypeError(`uniqueName: expected a prefix of 1 to 40 of a-z, 0-9 and _, a letter first; got '${prefix}'`)
  }
  return `${prefix}_${randomBytes(6).toString('hex')}`
}
