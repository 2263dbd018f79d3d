import { script, type Script } from './script.ts'

/**
 * Writes that keys are given up or parked. On a record in doubt an effect may have happened, so `G` is then written as
 * `X`, which has no TTL: it waits for a person.
 *
 * - KEYS: the keys
 * - ARGV: `G` (given up) or `X` (parked), reason, refund ('1': the attempt is given back), cause, then the owner for
 *   each key
 * - Returns for each key the state it is in now: `given-up`, `parked`; or `refused` (not, or no longer, the owner's)
 * - Sent again: the same; the value is written again, so that a WAIT or WAITAOF after it covers it
 */
export const SET_ASIDE: Script = script(`
local as, reason, refund = ARGV[1], ARGV[2], tonumber(ARGV[3])
local cause = string.gsub(string.gsub(ARGV[4], '%%', '%%25'), '|', '%%7C')
local time = redis.call('TIME')
local story = '\\n' .. string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)) .. '\\n' .. cause
local function setAside(key, token)
  local value = get(key)
  local state, fence, attempts, doubt, fp, owner = parse(value)
  if (state == 'G' or state == 'X') and bare(owner) == bare(token) then
    redis.call('SET', key, value, 'KEEPTTL')
    return state == 'G' and 'given-up' or 'parked'
  elseif state ~= 'P' or owner ~= token then return 'refused'
  elseif as == 'G' and doubt == '0' then
    redis.call('SET', key, table.concat({ 'G', fence, attempts - refund, '0', fp, token .. story, reason }, '|'), 'KEEPTTL')
    return 'given-up'
  end
  redis.call('SET', key, table.concat({ 'X', fence, attempts - refund, doubt, fp, token .. story, reason }, '|')) -- mutant: redis-parked-forgotten
  return 'parked'
end
local out = {}
for i, key in ipairs(KEYS) do out[i] = setAside(key, ARGV[4 + i]) end
return out
`)
