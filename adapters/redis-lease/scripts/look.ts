import { script, type Script } from './script.ts'

/**
 * Reads records.
 *
 * - KEYS: the keys
 * - ARGV: first characters of the values that are wanted; empty: all
 * - Returns for each key: `now|ttl|value` (ms of the server's clock, ms that are left or -1), `absent`, `other` where the
 *   value does not begin with any of these characters, or `type|name` where it is no text
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

/** Its keys as the server sees them: a client may set a prefix of its own before them. */
export const NAMES: Script = script(`return KEYS`)
