import { script, type Script } from './script.ts'

/**
 * Claims keys.
 *
 * - KEYS: the keys, distinct
 * - ARGV: token, leaseMs, retentionMs, alone ('1' or '0'), then the digest for each key
 * - Returns for each key: `claimed|fence|attempt`, `taken-over|fence|attempt`, `busy|leaseLeftMs`, `in-doubt`,
 *   `done|result`, `given-up|reason`, `parked|reason`, `conflict` or `unreadable`
 * - Sent again: the same grant, its lease started anew
 */
export const CLAIM: Script = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local token, lease, retention, alone = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1'
local out = {}
for i, key in ipairs(KEYS) do
  local digest = ARGV[4 + i]
  local state, fence, attempts, doubt, fp, owner, rest = read(key)
  local mine = state == 'P' and owner == token
  if not state then out[i] = 'unreadable'
  elseif state ~= 'A' and fp ~= digest then out[i] = 'conflict'
  elseif state == 'D' then out[i] = 'done|' .. rest
  elseif state == 'G' then out[i] = 'given-up|' .. rest
  elseif state == 'X' then out[i] = 'parked|' .. rest
  elseif state == 'P' and not mine and tonumber(rest) > now then
    out[i] = 'busy|' .. string.format('%.0f', rest - now)
  elseif not mine and (state == 'P' or doubt == '1') and not alone then out[i] = 'in-doubt'
  else
    if not mine then
      fence, attempts = fence + 1, attempts + 1
      -- A lease that ended without mark or release: nobody knows whether its effect happened.
      if state == 'P' then doubt = '1' end
    end
    local deadline = string.format('%.0f', now + lease)
    local value = table.concat({ 'P', fence, attempts, doubt, digest, token, deadline }, '|')
    redis.call('SET', key, value, 'PX', retention)
    out[i] = (doubt == '1' and 'taken-over|' or 'claimed|') .. fence .. '|' .. attempts
  end
end
return out
`)
