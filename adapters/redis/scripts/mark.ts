import type { Claim, Result } from '../../../src/internal.ts'
import type { Argument } from '../clients/redis-port.ts'
import { wholeMs } from '../records/whole-ms.ts'
import { ADDED_BY_TAG, ownerOf } from '../records/owners.ts'
import { ARE_PLAIN, DIGEST_CHARACTERS, script, type Script } from './script.ts'

const TOKEN_CHARACTERS = 12
/** Owners that fit the short form. */
const OWNER_CHARACTERS: number = TOKEN_CHARACTERS + ADDED_BY_TAG
/** Fence and attempt, one digit each. */
const COUNTS_CHARACTERS = 2

/**
 * Writes that effects happened; retention starts anew. Refused only if another owner is processing or has marked: a
 * record that is absent, released or set aside has no owner, and the effect did happen. The lease deadline does not
 * matter.
 *
 * - KEYS: the keys
 * - ARGV: '1', retentionMs, the number of results, and for each of them the number of its key and the result; then for
 *   each owner: the owner, and for each of its keys fence, attempt (one digit each) and digest (22 characters), all in
 *   one text. '2': the same, and no key has a digest. Or '0', then for each key `|digest|owner|` as in its record,
 *   retentionMs, and the done record
 * - Returns a text with a letter for each key: `m` for `marked`, or `-`; then, for each `-`, `marked`,
 *   `already-marked`, `marked-late`, `refused-busy` (also for unreadable records) or `refused-done`
 * - Sent again: `already-marked` if it was written, else the same
 */
export const MARK: Script = script(
  `
local function mark(key, owned, retention, done)
  local value = get(key)
  local digest, token = string.match(owned, '^|([^|]*)|([^|]*)|$')
  local state, fence, attempts, doubt, fp, owner = parse(value)
  -- Unreadable: it may belong to somebody else.
  if not state then return 'refused-busy'
  elseif state == 'D' then
    -- Written again, so that a WAIT or WAITAOF after this script covers this mark too.
    redis.call('SET', key, value, 'KEEPTTL')
    return isOf(token, owner, value) and 'already-marked' or 'refused-done'
  elseif state == 'P' and owner ~= token then return 'refused-busy' -- mutant: redis-mark-by-anyone 2
  end
  -- Fences never decrease: if there is a record, keep its fence.
  if state ~= 'A' then done = withFence(done, fence, owned) end -- mutant: redis-fence-goes-down
  redis.call('SET', key, done, 'PX', retention)
  return state == 'P' and 'marked' or 'marked-late'
end
local letters, out = {}, {}
local function answer(i, said)
  letters[i] = said == 'marked' and 'm' or '-'
  if said ~= 'marked' then out[#out + 1] = said end
end
if ARGV[1] ~= '0' then
  local hasDigest = ARGV[1] == '1'
  local width = hasDigest and ${COUNTS_CHARACTERS + DIGEST_CHARACTERS} or ${COUNTS_CHARACTERS}
  local retention, last = ARGV[2], 3 + 2 * ARGV[3]
  local results = {}
  for at = 4, last, 2 do results[tonumber(ARGV[at])] = ARGV[at + 1] end
  local values = redis.call('MGET', unpack(KEYS))
  local i = 0
  for group = last + 1, #ARGV, 2 do
    local token, packed = ARGV[group], ARGV[group + 1]
    local owner, marked, short = '|' .. token .. '|', '|' .. bare(token) .. '|', string.sub(token, 1, 4)
    for at = 1, #packed, width do
      i = i + 1
      local fence, digest = string.sub(packed, at, at), string.sub(packed, at + 2, at + width - 1)
      local done = (hasDigest and 'd' .. fence .. digest .. short or 'D|' .. fence .. '|0|0|' .. marked) .. (results[i] or '')
      local own = 'P|' .. fence .. '|' .. string.sub(packed, at + 1, at + 1) .. '|0|' .. digest .. owner -- mutant: redis-mark-by-anyone
      -- Nearly every key.
      if values[i] and string.sub(values[i], 1, #own) == own then
        redis.call('SET', KEYS[i], done, 'PX', retention) -- mutant: redis-mark-without-retention
        letters[i] = 'm'
      else
        answer(i, mark(KEYS[i], '|' .. digest .. owner, retention, done))
      end
    end
  end
else
  for i, key in ipairs(KEYS) do answer(i, mark(key, ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1])) end
end
table.insert(out, 1, table.concat(letters))
return out
`,
  { m: 'marked' },
)

/** What is kept with the marks of a batch. Most have nothing. */
export type Kept = ReadonlyMap<Claim, Result>

/** @param claims - those whose effect happened */
export function markArguments(claims: readonly Claim[], kept: Kept): readonly Argument[] {
  return packed(claims, kept) ?? [0, ...claims.flatMap((claim) => argumentsOf(claim, kept.get(claim)))]
}

/** The short form, which fits nearly every batch. `undefined`: some item needs the long form. */
function packed(claims: readonly Claim[], kept: Kept): readonly Argument[] | undefined {
  const [first] = claims
  if (first === undefined) return undefined
  const { retentionMs } = first
  const { length } = first.digest
  if (length !== DIGEST_CHARACTERS && length !== 0) return undefined
  const results: Argument[] = []
  const groups: string[] = []
  let [token, owner]: (string | undefined)[] = []
  let group = ''
  let at = 0
  for (const claim of claims) {
    at++
    const { fence, attempt, digest } = claim
    const isShort = fence < 10 && attempt < 10 && digest.length === length
    if (!isShort || claim.retentionMs !== retentionMs) return undefined
    if (claim.token !== token) {
      if (owner !== undefined) groups.push(owner, group)
      token = claim.token
      if (!ARE_PLAIN.test(token)) return undefined
      owner = ownerOf(claim)
      if (owner.length !== OWNER_CHARACTERS) return undefined
      group = ''
    }
    group += `${fence}${attempt}${digest}`
    const result = kept.size === 0 ? undefined : kept.get(claim)
    if (result !== undefined) results.push(at, result)
  }
  groups.push(owner ?? '', group)
  if (!groups.every((word, place) => place % 2 === 0 || ARE_PLAIN.test(word))) return undefined
  return [length === 0 ? 2 : 1, wholeMs(retentionMs), results.length / 2, ...results, ...groups]
}

function argumentsOf(claim: Claim, result: Result = ''): readonly Argument[] {
  const { digest, token, fence, retentionMs } = claim
  const isShort =
    fence < 10 &&
    digest.length === DIGEST_CHARACTERS &&
    token.length === TOKEN_CHARACTERS &&
    ARE_PLAIN.test(digest) &&
    ARE_PLAIN.test(token)
  const done = isShort
    ? `d${fence}${digest}${token.slice(0, 4)}${result}`
    : `D|${fence}|0|0|${digest}|${token}|${result}`
  return [`|${digest}|${ownerOf(claim)}|`, wholeMs(retentionMs), done]
}
