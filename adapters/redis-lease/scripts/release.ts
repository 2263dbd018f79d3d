import { script, type Script } from './script.ts'

/**
 * Gives claims back. Fence, attempts and doubt stay until retention ends: a late owner must stay refused.
 *
 * - KEYS: the keys
 * - ARGV: refund ('1': the attempt is given back), doubt ('1': nobody knows whether the effect happened), then the token
 *   for each key
 * - Returns for each key: `released`, `already-released`, `refused` (not, or no longer, the owner's) or `unreadable`
 * - Sent again: `already-released`, and the attempt is given back once
 */
export const RELEASE: Script = script(`
local refund, leavesDoubt = tonumber(ARGV[1]), ARGV[2] == '1'
local out = {}
for i, key in ipairs(KEYS) do
  local token = ARGV[2 + i]
  local state, fence, attempts, doubt, fp, owner = read(key)
  if not state then out[i] = 'unreadable'
  -- What was done and then forgotten remembers only the beginning of its owner.
  elseif state == 'R' and (owner == token or #owner == 4 and owner == string.sub(token, 1, 4)) then out[i] = 'already-released'
  elseif state ~= 'P' or owner ~= token then out[i] = 'refused'
  else
    if leavesDoubt then doubt = '1' end
    local value = table.concat({ 'R', fence, attempts - refund, doubt, fp, token, '' }, '|')
    redis.call('SET', key, value, 'KEEPTTL')
    out[i] = 'released'
  end
end
return out
`)
