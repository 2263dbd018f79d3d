import { RETENTION_NOTED_MS } from '../../../src/internal.ts'
import { script, type Script } from './script.ts'

/**
 * The times of a scope are one text, `first|retention:until|…`, in ms: its first claim or import, and until when claims
 * may have been made with each retention. All are gone after a loss of all data, so that absence proves nothing about
 * messages of before.
 */
export const NOTE_USE: string = `
local function noteUse(key, times, now, retention)
  local first, used = string.match(times or '', '^(%d+)(.*)$')
  local before, noted, after = string.match(used or '', '^(.-)|' .. retention .. ':(%d+)(.*)$')
  if noted and now < tonumber(noted) then return end
  redis.call('SET', key, string.format('%.0f', first or now) .. (before or used or '') .. (after or '')
    .. '|' .. retention .. ':' .. string.format('%.0f', now + ${RETENTION_NOTED_MS}))
end
`

/**
 * Reads the times of a scope.
 *
 * - KEYS: the times
 * - ARGV: a retention to note, or `-`: write the current time if there is none, or an empty text
 * - Returns the times, empty if there are none, and the current time in ms of the server's clock
 */
export const SINCE: Script = script(`${NOTE_USE}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local text = string.format('%.0f', now)
if ARGV[1] == '-' then redis.call('SET', KEYS[1], text, 'NX')
elseif ARGV[1] ~= '' then noteUse(KEYS[1], redis.call('GET', KEYS[1]), now, ARGV[1]) end
return { redis.call('GET', KEYS[1]) or '', text }
`)
