import type { ClaimItem } from '../../../src/internal.ts'
import type { Argument } from '../clients/redis-port.ts'
import { MARKED_AT } from './marked-at.ts'
import { ARE_PLAIN, DIGEST_CHARACTERS, script, type Script } from './script.ts'
import { NOTE_USE } from './since.ts'

/**
 * Claims keys.
 *
 * - KEYS: the keys, distinct; then, except for trials, the times of the scope
 * - ARGV: owner, leaseMs, retentionMs, alone ('1' or '0'), then the digests: '1' and all of them in one text of 22
 *   characters each; '2' and the number of keys, if no key has one; or '0' and one for each key
 * - Returns a text with a letter for each key: `c` for `claimed|1|1`, `d` for `done||`, `t` and 13 digits for
 *   `done|since|`, or `-`; then, for each `-`,
 *   `claimed|fence|attempt`, `taken-over|fence|attempt`, `busy|leaseLeftMs`, `in-doubt`, `done|since|result`,
 *   `given-up|attempts|owner|reason`, `parked|attempts|owner|reason`, `conflict` or `unreadable|type|bytes`
 * - Sent again: the same grant with a new lease
 */
export const CLAIM: Script = script(
  `${NOTE_USE}${MARKED_AT}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local token, lease, retention, alone = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1'
local digests = ARGV[5] == '1' and ARGV[6]
local held = '|' .. token .. '|' .. string.format('%.0f', now + lease)
local function unreadable(key)
  local kind = redis.call('TYPE', key).ok
  return 'unreadable|' .. kind .. '|' .. (kind == 'string' and redis.call('STRLEN', key) or '')
end
local values = redis.call('MGET', unpack(KEYS))
local hasNone = ARGV[5] == '2'
local count = digests and #digests / ${DIGEST_CHARACTERS} or hasNone and tonumber(ARGV[6]) or #ARGV - 5
local markedAt = markedAtBy(values[count + 1], now)
local function claim(key, digest, value)
  local state, fence, attempts, doubt, fp, owner, rest = parse(value)
  local mine = state == 'P' and owner == token -- mutant: redis-claim-by-anyone
  if not state then return unreadable(key)
  elseif fp ~= digest and fp ~= '' and digest ~= '' then return 'conflict' -- mutant: redis-digest-uncompared
  elseif state == 'D' then return 'done|' .. markedAt(key, owner) .. '|' .. rest
  elseif state == 'G' or state == 'X' then
    return (state == 'G' and 'given-up|' or 'parked|') .. attempts .. '|' .. owner .. '|' .. rest
  elseif state == 'P' and not mine and tonumber(rest) > now then
    return 'busy|' .. string.format('%.0f', rest - now)
  end
  local notBefore = state == 'R' and string.match(rest, '^(%d+)|')
  if notBefore and tonumber(notBefore) > now then return 'busy|' .. string.format('%.0f', notBefore - now)
  elseif not mine and (state == 'P' or doubt == '1') and not alone then return 'in-doubt'
  else
    if not mine then
      fence, attempts = fence + 1, attempts + 1
      -- A lease that ended without mark or release: it is unknown whether its effect happened.
      if state == 'P' then doubt = '1' end -- mutant: redis-doubt-forgotten
    end
    redis.call('SET', key, table.concat({ 'P', fence, attempts, doubt, digest }, '|') .. held, 'PX', retention)
    return (doubt == '1' and 'taken-over|' or 'claimed|') .. fence .. '|' .. attempts
  end
end
local letters, out = {}, {}
if KEYS[count + 1] then noteUse(KEYS[count + 1], values[count + 1], now, retention) end -- mutant: redis-first-claim-unwritten
for i = 1, count do
  local key = KEYS[i]
  local digest = hasNone and '' or ARGV[5 + i]
  if digests then digest = string.sub(digests, i * ${DIGEST_CHARACTERS} - ${DIGEST_CHARACTERS - 1}, i * ${DIGEST_CHARACTERS}) end
  local value = values[i]
  -- Nearly every key. NX, because MGET returns nil for a value that is not a string.
  if not value and redis.call('SET', key, 'P|1|1|0|' .. digest .. held, 'PX', retention, 'NX') then
    letters[i] = 'c'
  elseif value and #value == 28 and string.find(value, '^d[1-9]') and string.sub(value, 3, 24) == digest then
    -- Nearly every duplicate.
    local since = markedAt(key, '')
    letters[i] = since == '' and 'd' or 't' .. since
  else
    letters[i] = '-'
    out[#out + 1] = value and claim(key, digest, value) or unreadable(key)
  end
end
table.insert(out, 1, table.concat(letters))
return out
`,
  { c: 'claimed|1|1', d: 'done||', t: 'done|#|' },
)

export function digestArguments(items: readonly Pick<ClaimItem, 'digest'>[]): readonly Argument[] {
  let packed = ''
  let areFull = true
  for (const { digest } of items) {
    packed += digest
    areFull &&= digest.length === DIGEST_CHARACTERS
  }
  if (packed === '') return [2, items.length]
  return areFull && ARE_PLAIN.test(packed) ? [1, packed] : [0, ...items.map(({ digest }) => digest)]
}
