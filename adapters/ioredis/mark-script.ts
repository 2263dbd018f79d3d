import { script, type Script } from './script.ts'

/**
 * Writes that effects happened; retention starts anew. Refused only where another owner is processing or has marked: what
 * is absent, released or set aside belongs to nobody, and the effect did happen. The lease deadline is not looked at.
 *
 * - KEYS: the keys
 * - ARGV: token, digest, fence and retentionMs for each key
 * - Returns for each key: `marked`, `already-marked`, `marked-late`, `refused-busy`, `refused-done` or `unreadable`
 * - Sent again: `already-marked` where it was written, else the same
 */
export const MARK: Script = script(`
local out = {}
for i, key in ipairs(KEYS) do
  local at = 4 * (i - 1)
  local token, digest, claimed, retention = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local state, fence, attempts, doubt, fp, owner = read(key)
  if not state then out[i] = 'unreadable'
  elseif state == 'D' then out[i] = owner == token and 'already-marked' or 'refused-done'
  elseif state == 'P' and owner ~= token then out[i] = 'refused-busy'
  else
    if state == 'A' then fence = claimed end
    local value = table.concat({ 'D', fence, attempts, '0', digest, token, '' }, '|')
    redis.call('SET', key, value, 'PX', retention)
    out[i] = state == 'P' and 'marked' or 'marked-late'
  end
end
return out
`)
