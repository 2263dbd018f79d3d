import { createHash } from 'node:crypto'

/** A script may be sent any number of times: with the same tokens it answers as if the first had been the only one. */
export interface Script {
  readonly lua: string
  readonly sha: string
}

/**
 * Before each script: what a key holds, as `S|fence|attempts|doubt|fp|token|rest`.
 *
 * S: P processing (rest: lease deadline, ms of the server's clock), R released, D done (rest: result), G given up (rest:
 * reason), X parked (rest: reason); `A` stands for absent, and nil for what this library has not written. The TTL of the key
 * is the retention of the record; X has none.
 */
const READ = `
local function parse(value)
  if not value then return 'A', '0', '0', '0', '', '', '' end
  return string.match(value, '^([PRDGX])|(%d+)|(%d+)|([01])|([^|]*)|([^|]*)|(.*)$')
end
local function read(key)
  return parse(redis.call('GET', key))
end
`

export function script(lua: string): Script {
  const whole = READ + lua
  return { lua: whole, sha: createHash('sha1').update(whole).digest('hex') }
}
