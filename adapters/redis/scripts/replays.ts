import { script, type Script } from './script.ts'

/** A replay is a hash: `owner` (empty: nobody), `until`, `state`, `created`, `saved` (ms), `request` (empty: none). */
const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function text(number) return string.format('%.0f', number) end
`

/**
 * Creates a replay, or takes it unless another owner holds it. Another owner than the last one finds no request to pause.
 *
 * - KEYS: the replay, the replays of its scope
 * - ARGV: ID, owner, ttlMs, state of a new replay
 * - Returns `taken` or `held`, ms until the hold ends, state
 */
export const TAKE_REPLAY: Script = script(`${NOW}
local owner, untilThen = ARGV[2], text(now + ARGV[3])
local kept, holder, ends, request = unpack(redis.call('HMGET', KEYS[1], 'state', 'owner', 'until', 'request'))
if not kept then
  redis.call('HSET', KEYS[1], 'owner', owner, 'until', untilThen, 'state', ARGV[4], 'created', text(now), 'saved', text(now), 'request', '')
  redis.call('ZADD', KEYS[2], text(time[1] * 1000000 + time[2]), ARGV[1])
  return { 'taken', '0', ARGV[4] }
end
if holder ~= '' and holder ~= owner and tonumber(ends) > now then return { 'held', text(ends - now), kept } end -- mutant: redis-replay-hold-shared
if holder ~= owner and request == 'pause' then request = '' end
redis.call('HSET', KEYS[1], 'owner', owner, 'until', untilThen, 'request', request)
return { 'taken', '0', kept }
`)

/**
 * Writes the state of a replay and extends its hold. A hold that has ended is not lost until somebody else takes it.
 *
 * - KEYS: the replay
 * - ARGV: owner, ttlMs, state
 * - Returns `held` and the request, or `lost`
 */
export const SAVE_REPLAY: Script = script(`${NOW}
local holder, request = unpack(redis.call('HMGET', KEYS[1], 'owner', 'request'))
if holder ~= ARGV[1] then return { 'lost', '' } end -- mutant: redis-replay-saved-by-anyone
redis.call('HSET', KEYS[1], 'state', ARGV[3], 'saved', text(now), 'until', text(now + ARGV[2]))
return { 'held', request }
`)

/** KEYS: the replay. ARGV: owner. Ends its hold. */
export const LEAVE_REPLAY: Script = script(`
if redis.call('HMGET', KEYS[1], 'owner')[1] == ARGV[1] then redis.call('HSET', KEYS[1], 'owner', '') end
return 'ok'
`)

/** KEYS: the replay. ARGV: the request, or empty. Returns `asked` or `absent`. */
export const ASK_REPLAY: Script = script(`
if not redis.call('HMGET', KEYS[1], 'owner')[1] then return 'absent' end
redis.call('HSET', KEYS[1], 'request', ARGV[1])
return 'asked'
`)

/** KEYS: replays of one scope. Returns for each of them: state, created, saved, ms until its hold ends, request; or nothing. */
export const READ_REPLAYS: Script = script(`${NOW}
local out = {}
for i, key in ipairs(KEYS) do
  local state, created, saved, owner, ends, request = unpack(redis.call('HMGET', key, 'state', 'created', 'saved', 'owner', 'until', 'request'))
  out[i] = state and { state, created, saved, owner ~= '' and text(math.max(0, ends - now)) or '0', request } or {}
end
return out
`)

/** KEYS: the replays of a scope. ARGV: how many. Returns their IDs, the newest first. */
export const LIST_REPLAYS: Script = script(`return redis.call('ZREVRANGE', KEYS[1], 0, ARGV[1] - 1)`)
