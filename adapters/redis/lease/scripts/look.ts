import { script, type Script } from './script.ts'

/**
 * Reads records.
 *
 * - KEYS: the keys
 * - ARGV: first characters of the values to return; empty: all
 * - Returns for each key: `now|ttl|value` (ms of the server's clock, remaining ms or -1), `absent`, `other` if the
 *   value begins with none of these characters, or `type|name` if it is not a string
 */
export const LOOK: Script = script(`
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local out = {}
for i, key in ipairs(KEYS) do
  local value = get(key)
  if not value then out[i] = 'absent'
  elseif type(value) ~= 'string' then out[i] = 'type|' .. redis.call('TYPE', key).ok
  elseif ARGV[1] ~= '' and (value == '' or not string.find(ARGV[1], string.sub(value, 1, 1), 1, true)) then out[i] = 'other'
  else out[i] = now .. '|' .. redis.call('PTTL', key) .. '|' .. value
  end
end
return out
`)

/** Returns its keys as the server sees them: a client may add a prefix of its own. */
export const NAMES: Script = script(`return KEYS`)
