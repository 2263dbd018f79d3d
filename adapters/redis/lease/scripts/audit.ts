import { script, type Script } from './script.ts'

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
export const WRITE_NOTE: Script = script(`
return redis.call('XADD', KEYS[1], 'MAXLEN', '~', 10000, '*',
  'scope', ARGV[1], 'decision', ARGV[2], 'about', ARGV[3], 'by', ARGV[4], 'reason', ARGV[5])
`)
