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
