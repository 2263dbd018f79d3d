import { script, type Script } from './script.ts'

/**
 * Reads once more what was read as done, and writes one of it again: what then waits for replicas or for the disk, behind this
 * script, waits for all that was written before, so for all these marks, whoever wrote them.
 *
 * - KEYS: the keys
 * - ARGV: none
 * - Returns for each key: `done`, or `gone` where there is something else by now
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
