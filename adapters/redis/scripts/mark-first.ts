import { MARKED_AT } from './marked-at.ts'
import { script, type Script } from './script.ts'
import { NOTE_USE } from './since.ts'

/**
 * Claims keys by writing that they are done: SET NX PX, before the effect. The records are those of a lease.
 *
 * - KEYS: the keys, distinct, then the times of the scope
 * - ARGV: token, retentionMs, then the digest for each key
 * - Returns for each key: `claimed|fence|attempt`, `busy|leaseLeftMs` (its backoff is not over, or a lease of `redisLease`
 *   holds it), `done|since|result`, `given-up|attempts|owner|reason`, `parked|attempts|owner|reason`, `conflict` or
 *   `unreadable|type|bytes`
 * - Sent again: the same grant. A lease of `redisLease` that ended without a mark counts as done: it may have had its
 *   effect
 */
export const MARK_FIRST: Script = script(`${NOTE_USE}${MARKED_AT}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local token, retention = ARGV[1], ARGV[2]
local count = #ARGV - 2
local times = redis.call('GET', KEYS[count + 1])
local markedAt = markedAtBy(times, now)
local function claim(key, digest)
  local mine = '0|' .. digest .. '|' .. token .. '|'
  if redis.call('SET', key, 'D|1|1|' .. mine, 'PX', retention, 'NX') then return 'claimed|1|1' end
  local value = get(key)
  local state, fence, attempts, doubt, fp, owner, rest = parse(value)
  if not state then
    local kind = redis.call('TYPE', key).ok
    return 'unreadable|' .. kind .. '|' .. (kind == 'string' and redis.call('STRLEN', key) or '')
  elseif fp ~= digest and fp ~= '' and digest ~= '' then return 'conflict'
  elseif state == 'D' and owner == token then return 'claimed|' .. fence .. '|' .. attempts
  elseif state == 'D' then return 'done|' .. markedAt(key, owner) .. '|' .. rest
  elseif state == 'G' or state == 'X' then
    return (state == 'G' and 'given-up|' or 'parked|') .. attempts .. '|' .. owner .. '|' .. rest
  end
  local untilThen = tonumber(state == 'P' and rest or string.match(rest, '^(%d+)|') or 0)
  if untilThen > now then return 'busy|' .. string.format('%.0f', untilThen - now)
  elseif state == 'P' or doubt == '1' then return 'done||' end
  fence, attempts = fence + 1, attempts + 1
  redis.call('SET', key, table.concat({ 'D', fence, attempts, mine }, '|'), 'PX', retention)
  return 'claimed|' .. fence .. '|' .. attempts
end
noteUse(KEYS[count + 1], times, now, retention)
local out = {}
for i = 1, count do out[i] = claim(KEYS[i], ARGV[2 + i]) end
return out
`)

/**
 * Makes records that `MARK_FIRST` wrote into leases that have ended, so that they can be released or set aside: their
 * handler has failed without an effect. A process that dies right after this loses the message, as after the claim.
 *
 * - KEYS: the keys
 * - ARGV: the owner for each key: the record had its token only
 * - Returns `ready` for each key: what is not, or no longer, the owner's is left as it is
 * - Sent again: the same
 */
export const UNMARK: Script = script(`
local out = {}
for i, key in ipairs(KEYS) do
  local state, fence, attempts, doubt, fp, owner, rest = read(key)
  if state == 'D' and owner == bare(ARGV[i]) then
    redis.call('SET', key, table.concat({ 'P', fence, attempts, doubt, fp, ARGV[i], '0' }, '|'), 'KEEPTTL')
  end
  out[i] = 'ready'
end
return out
`)
