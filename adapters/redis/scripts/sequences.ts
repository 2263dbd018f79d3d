import { script, type Script } from './script.ts'

/**
 * Reads sources.
 *
 * - KEYS: the sources
 * - ARGV: none
 * - Returns for each source: `+` and its text, `-` if there is none, or `?` for a value that is not a string
 */
export const READ_SOURCES: Script = script(`
local out = {}
for i, key in ipairs(KEYS) do
  local value = get(key)
  out[i] = type(value) == 'string' and '+' .. value or value and '?' or '-'
end
return out
`)

/**
 * Writes the texts of sources that have not changed, and removes records of theirs that are done.
 *
 * - KEYS: the sources, then the records to remove, by source
 * - ARGV: how many sources, then for each: the text as it was read, or empty for none; the new text; how long it is kept
 *   at least, in ms; how many records to remove
 * - Returns for each source: `swapped`, or `changed`
 * - Sent again: the same
 */
export const SWAP_SOURCES: Script = script(`
local out = {}
local at = tonumber(ARGV[1])
for i = 1, at do
  local key, from, to = KEYS[i], ARGV[4 * i - 2], ARGV[4 * i - 1]
  local keep, count = tonumber(ARGV[4 * i]), tonumber(ARGV[4 * i + 1])
  local value = get(key)
  if (value or '') == from or value == to then
    redis.call('SET', key, to, 'PX', math.max(keep, redis.call('PTTL', key)))
    for record = at + 1, at + count do
      if read(KEYS[record]) == 'D' then redis.call('DEL', KEYS[record]) end
    end
    out[i] = 'swapped'
  else out[i] = 'changed' end
  at = at + count
end
return out
`)
