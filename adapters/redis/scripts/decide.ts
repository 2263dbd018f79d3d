import { LOG } from './audit.ts'
import { script, type Script } from './script.ts'

/**
 * Carries out a person's decision on records without a living owner, and logs it for audit with the previous record.
 *
 * - KEYS: the keys, then for each of them the audit stream
 * - ARGV: `done`, `rerun`, `reopen`, `forget` or `import`, retentionMs, who decides, why, the scope and its tag
 * - Returns for each key: `decided`, `already` (nothing to do, or sent again) or `refused` (not possible in this state,
 *   unreadable, or of another scope)
 * - Sent again: `already`; the value is written again, so that a WAIT or WAITAOF after it covers it
 */
export const DECIDE: Script = script(`${LOG}
local decision, retention, by, reason, scope, tag = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function isFor(state, doubt, rest)
  if decision == 'reopen' then return state == 'G' end
  if decision == 'forget' then return state == 'D' end
  if decision == 'import' then return state == 'A' end
  local inDoubt = (state == 'P' and tonumber(rest) <= now) or (state == 'R' and doubt == '1')
  return state == 'X' or state == 'G' or inDoubt
end
local function decide(key, audit)
  local value = get(key)
  local state, fence, attempts, doubt, fp, owner, rest = parse(value)
  if not state then return 'refused' end
  -- A record without a tag is done: who asks has made sure that it is of the scope.
  local own = string.match(owner, '^[^~\\n]*~([^\\n]*)')
  if own and own ~= tag then return 'refused' end -- mutant: redis-decides-for-all
  -- The owner field of G, X and D may also have time and cause; keep the owner only.
  owner = string.match(owner, '^[^\\n]*')
  local isOpen = state == 'A' or (state == 'R' and doubt == '0' and tonumber(attempts) == 0)
  local makesDone = decision == 'done' or decision == 'import'
  if (makesDone and state == 'D') or (not makesDone and isOpen) then
    if value then redis.call('SET', key, value, 'KEEPTTL') end
    return 'already'
  end
  if not isFor(state, doubt, rest) then return 'refused' end
  if decision == 'import' then fence = '1' end
  -- Its TTL does not tell the time of the decision: the retention is that of this call.
  local next = makesDone and table.concat({ 'D', fence, '0', '0', fp, owner .. string.format('\\n%.0f\\n', now), '' }, '|')
    or table.concat({ 'R', fence, '0', '0', fp, owner, '' }, '|')
  -- A long result is cut: the stream is for people. XADD first, so that a user without that right decides nothing.
  local before = string.sub(value or '', 1, 1024)
  log(audit, 'key', key, 'decision', decision, 'by', by, 'reason', reason, 'before', before, 'scope', scope)
  redis.call('SET', key, next, 'PX', retention)
  return 'decided'
end
local out = {}
for i = 1, #KEYS / 2 do out[i] = decide(KEYS[i], KEYS[#KEYS / 2 + i]) end
return out
`)
