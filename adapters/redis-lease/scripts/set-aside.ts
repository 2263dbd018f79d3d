import { script, type Script } from './script.ts'

/**
 * Writes that keys are given up or parked. In doubt nobody knows that no effect happened, so `G` is then written as `X`,
 * which has no TTL: it waits for a person.
 *
 * - KEYS: the keys
 * - ARGV: `G` (given up) or `X` (parked), reason, then the token for each key
 * - Returns for each key what stands there now: `given-up`, `parked`; or `refused` (not, or no longer, the owner's) or
 *   `unreadable`
 * - Sent again: the same
 */
export const SET_ASIDE: Script = script(`
local as, reason = ARGV[1], ARGV[2]
local out = {}
for i, key in ipairs(KEYS) do
  local token = ARGV[2 + i]
  local state, fence, attempts, doubt, fp, owner = read(key)
  if not state then out[i] = 'unreadable'
  elseif (state == 'G' or state == 'X') and owner == token then out[i] = state == 'G' and 'given-up' or 'parked'
  elseif state ~= 'P' or owner ~= token then out[i] = 'refused'
  elseif as == 'G' and doubt == '0' then
    redis.call('SET', key, table.concat({ 'G', fence, attempts, '0', fp, token, reason }, '|'), 'KEEPTTL')
    out[i] = 'given-up'
  else
    redis.call('SET', key, table.concat({ 'X', fence, attempts, doubt, fp, token, reason }, '|'))
    out[i] = 'parked'
  end
end
return out
`)
