import { script, type Script } from './script.ts'

/**
 * Writes that effects happened; retention starts anew. Refused only where another owner is processing or has marked: what
 * is absent, released or set aside belongs to nobody, and the effect did happen. The lease deadline is not looked at.
 *
 * - KEYS: the keys
 * - ARGV: `|digest|token|` as they stand in its record, fence, retentionMs and result (or nothing) for each key
 * - Returns for each key: `marked`, `already-marked`, `marked-late`, `refused-busy`, `refused-done` or `unreadable`
 * - Sent again: `already-marked` where it was written, else the same
 */
export const MARK: Script = script(`
local function mark(key, owned, claimed, retention, result)
  local value = redis.call('GET', key)
  -- Nearly every key. Doubt stands right before the digest, and ends.
  local at = value and string.byte(value) == 80 and string.find(value, owned, 1, true)
  if at then
    redis.call('SET', key, 'D' .. string.sub(value, 2, at - 2) .. '0' .. owned .. result, 'PX', retention)
    return 'marked'
  end
  local digest, token = string.match(owned, '^|([^|]*)|([^|]*)|$')
  local state, fence, attempts, doubt, fp, owner = parse(value)
  if not state then return 'unreadable'
  elseif state == 'D' then return owner == token and 'already-marked' or 'refused-done'
  elseif state == 'P' and owner ~= token then return 'refused-busy'
  end
  if state == 'A' then fence = claimed end
  redis.call('SET', key, 'D|' .. fence .. '|' .. attempts .. '|0' .. owned .. result, 'PX', retention)
  return state == 'P' and 'marked' or 'marked-late'
end
local out = {}
for i, key in ipairs(KEYS) do
  out[i] = mark(key, ARGV[4 * i - 3], ARGV[4 * i - 2], ARGV[4 * i - 1], ARGV[4 * i])
end
return out
`)
