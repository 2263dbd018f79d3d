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
local deadline = string.format('%.0f', now + lease)
local held = '|' .. token .. '|' .. deadline
local function claim(key, digest)
  local value = redis.call('GET', key)
  -- Nearly every key.
  if not value then
    redis.call('SET', key, 'P|1|1|0|' .. digest .. held, 'PX', retention)
    return 'claimed|1|1'
  end
  local state, fence, attempts, doubt, fp, owner, rest = parse(value)
  local mine = state == 'P' and owner == token
  if not state then return 'unreadable'
  elseif fp ~= digest and fp ~= '' and digest ~= '' then return 'conflict'
  elseif state == 'D' then return 'done|' .. rest
  elseif state == 'G' then return 'given-up|' .. rest
  elseif state == 'X' then return 'parked|' .. rest
  elseif state == 'P' and not mine and tonumber(rest) > now then
    return 'busy|' .. string.format('%.0f', rest - now)
  elseif not mine and (state == 'P' or doubt == '1') and not alone then return 'in-doubt'
  else
    if not mine then
      fence, attempts = fence + 1, attempts + 1
      -- A lease that ended without mark or release: nobody knows whether its effect happened.
      if state == 'P' then doubt = '1' end
    end
    redis.call('SET', key, table.concat({ 'P', fence, attempts, doubt, digest }, '|') .. held, 'PX', retention)
    return (doubt == '1' and 'taken-over|' or 'claimed|') .. fence .. '|' .. attempts
  end
end
local out = {}
for i, key in ipairs(KEYS) do out[i] = claim(key, ARGV[4 + i]) end
return out
`)
