import { script, type Script } from './script.ts'

/**
 * Writes that keys are given up or parked. In doubt nobody knows that no effect happened, so `G` is then written as `X`,
 * which has no TTL: it waits for a person.
 *
 * - KEYS: the keys
 * - ARGV: `G` (given up) or `X` (parked), reason, then the token for each key
 * - Returns for each key what stands there now: `given-up`, `parked`; or `refused` (not, or no longer, the owner's) or
 *   `unreadable`
 * - Sent again: the same; written again, so that what waits for replicas or for the disk waits for it
 */
export const SET_ASIDE: Script = script(`
local as, reason = ARGV[1], ARGV[2]
local function setAside(key, token)
  local value = redis.call('GET', key)
  local state, fence, attempts, doubt, fp, owner = parse(value)
  if not state then return 'unreadable'
  elseif (state == 'G' or state == 'X') and owner == token then
    redis.call('SET', key, value, 'KEEPTTL')
    return state == 'G' and 'given-up' or 'parked'
  elseif state ~= 'P' or owner ~= token then return 'refused'
  elseif as == 'G' and doubt == '0' then
    redis.call('SET', key, table.concat({ 'G', fence, attempts, '0', fp, token, reason }, '|'), 'KEEPTTL')
    return 'given-up'
  end
  redis.call('SET', key, table.concat({ 'X', fence, attempts, doubt, fp, token, reason }, '|'))
  return 'parked'
end
local out = {}
for i, key in ipairs(KEYS) do out[i] = setAside(key, ARGV[2 + i]) end
return out
`)
