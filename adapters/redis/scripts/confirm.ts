import { script, type Script } from './script.ts'

/**
 * Reads again the keys that were read as done, and rewrites one of them. A WAIT or WAITAOF after this script then
 * covers everything that was written before, including marks of other processes.
 *
 * - KEYS: the keys
 * - ARGV: none
 * - Returns for each key: `done`, or `gone` if it has another value by now
 * - Sent again: the same
 */
export const CONFIRM: Script = script(`
local out, last, found = {}, nil, nil
for i, key in ipairs(KEYS) do
  local value = get(key)
  local isDone = parse(value) == 'D'
  if isDone then last, found = key, value end
  out[i] = isDone and 'done' or 'gone'
end
if last then redis.call('SET', last, found, 'KEEPTTL') end
return out
`)
