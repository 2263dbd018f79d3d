import { MARKED_AT } from './marked-at.ts'
import { script, type Script } from './script.ts'

/**
 * Reads records.
 *
 * - KEYS: the keys, then the times of the scope if it is known
 * - ARGV: first characters of the values to return; empty: all. How many keys of records there are
 * - Returns for each key: `now|ttl|since|value` (ms of the server's clock, remaining ms or -1, when a done record was
 *   marked, or empty), `absent`, `other` if the value begins with none of these characters, or `type|name` if it is not
 *   a string
 */
export const LOOK: Script = script(`${MARKED_AT}
local time = redis.call('TIME')
local ms = time[1] * 1000 + math.floor(time[2] / 1000)
local now = string.format('%.0f', ms)
local count = tonumber(ARGV[2])
local markedAt = markedAtBy(KEYS[count + 1] and redis.call('GET', KEYS[count + 1]), ms)
local out = {}
for i = 1, count do
  local key = KEYS[i]
  local value = get(key)
  if not value then out[i] = 'absent'
  elseif type(value) ~= 'string' then out[i] = 'type|' .. redis.call('TYPE', key).ok
  elseif ARGV[1] ~= '' and (value == '' or not string.find(ARGV[1], string.sub(value, 1, 1), 1, true)) then out[i] = 'other'
  else
    local state, fence, attempts, doubt, fp, owner = parse(value)
    local since = state == 'D' and markedAt(key, owner) or ''
    out[i] = now .. '|' .. redis.call('PTTL', key) .. '|' .. since .. '|' .. value
  end
end
return out
`)

/** Returns its keys as the server sees them: a client may add a prefix of its own. */
export const NAMES: Script = script(`return KEYS`)
