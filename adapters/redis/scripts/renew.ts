import { script, type Script } from './script.ts'

/**
 * Renews leases. A lease that has ended is renewed too, as long as nobody has taken the key over.
 *
 * - KEYS: the keys
 * - ARGV: leaseMs, then the owner for each key
 * - Returns for each key: `renewed` or `lost` (not, or no longer, the owner's)
 * - Sent again: the same
 */
export const RENEW: Script = script(`
local time = redis.call('TIME')
local deadline = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1])
local out = {}
for i, key in ipairs(KEYS) do
  local token = ARGV[1 + i]
  local state, fence, attempts, doubt, fp, owner = read(key)
  if state ~= 'P' or owner ~= token then out[i] = 'lost' -- mutant: redis-renewal-by-anyone
  else
    local value = table.concat({ 'P', fence, attempts, doubt, fp, token, deadline }, '|')
    redis.call('SET', key, value, 'KEEPTTL') -- mutant: redis-renewal-ends-retention
    out[i] = 'renewed'
  end
end
return out
`)
