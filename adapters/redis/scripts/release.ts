import { script, type Script } from './script.ts'

/**
 * Releases claims. Fence, attempts and doubt stay until retention ends, because a late owner must still be refused.
 *
 * - KEYS: the keys
 * - ARGV: refund ('1': the attempt is given back), doubt ('1': it is unknown whether the effect happened), delayMs,
 *   cause, then the owner for each key
 * - Returns for each key: `released`, `already-released` or `refused` (not, or no longer, the owner's)
 * - Sent again: `already-released`, and the attempt is given back once
 */
export const RELEASE: Script = script(`
local refund, leavesDoubt, delay, cause = tonumber(ARGV[1]), ARGV[2] == '1', tonumber(ARGV[3]), ARGV[4]
local rest = ''
if delay > 0 or cause ~= '' then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  rest = string.format('%.0f', delay > 0 and now + delay or 0) .. '|' .. cause
end
local out = {}
for i, key in ipairs(KEYS) do
  local token = ARGV[4 + i]
  local state, fence, attempts, doubt, fp, owner = read(key)
  -- A record that was done and then forgotten has only the first 4 characters of its owner.
  if state == 'R' and (bare(owner) == bare(token) or #bare(owner) == 4 and bare(owner) == string.sub(token, 1, 4)) then out[i] = 'already-released'
  elseif state ~= 'P' or owner ~= token then out[i] = 'refused' -- mutant: redis-release-by-anyone
  else
    if leavesDoubt then doubt = '1' end -- mutant: redis-doubt-lost-at-a-release
    local value = table.concat({ 'R', fence, attempts - refund, doubt, fp, token, rest }, '|')
    redis.call('SET', key, value, 'KEEPTTL')
    out[i] = 'released'
  end
end
return out
`)
