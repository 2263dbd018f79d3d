import { script, type Script } from './script.ts'

/**
 * `log(stream, ...)` adds an entry whose ID tells the time in microseconds, `ms-us`: a page puts those of all shards in order.
 * Where the clock has stepped back, or has not moved, it comes right after the one before.
 */
export const LOG = `
local function log(stream, ...)
  local time = redis.call('TIME')
  local id = string.format('%.0f-%d', time[1] * 1000 + math.floor(time[2] / 1000), time[2] % 1000)
  local added = redis.pcall('XADD', stream, 'MAXLEN', '~', 10000, id, ...)
  if type(added) == 'table' and string.find(added.err, 'equal or smaller', 1, true) then
    added = redis.call('XADD', stream, 'MAXLEN', '~', 10000, '*', ...)
  end
  -- Such as a right that the user lacks.
  if type(added) == 'table' then error(added.err) end
  return added
end
`

/**
 * Reads decisions of people, the newest first.
 *
 * - KEYS: an audit stream
 * - ARGV: the first entry, or `+`; how many
 * - Returns for each: ID, then its fields and values
 */
export const READ_AUDIT: Script = script(`
local out = {}
for i, entry in ipairs(redis.call('XREVRANGE', KEYS[1], ARGV[1], '-', 'COUNT', ARGV[2])) do
  out[i] = { entry[1], unpack(entry[2]) }
end
return out
`)

/**
 * Adds what a person did beside the records. Other scopes share the stream, so a note has its own.
 *
 * - KEYS: an audit stream
 * - ARGV: scope, what was done, to what, who, why
 * - Returns the ID of the entry
 */
export const WRITE_NOTE: Script = script(`${LOG}
return log(KEYS[1], 'scope', ARGV[1], 'decision', ARGV[2], 'about', ARGV[3], 'by', ARGV[4], 'reason', ARGV[5])
`)
