import type { Claim, Result } from '../../../src/index.ts'
import type { Argument } from '../redis-port.ts'
import { wholeMs } from '../whole-ms.ts'
import { script, type Script } from './script.ts'

/**
 * Writes that effects happened; retention starts anew. Refused only where another owner is processing or has marked: what
 * is absent, released or set aside belongs to nobody, and the effect did happen. The lease deadline is not looked at.
 *
 * - KEYS: the keys
 * - ARGV: for each key `P|fence|`, as its record begins, `|digest|token|`, as they stand in it, retentionMs, and the record of
 *   what is done
 * - Returns for each key: `marked`, `already-marked`, `marked-late`, `refused-busy`, `refused-done` or `unreadable`
 * - Sent again: `already-marked` where it was written, else the same
 */
export const MARK: Script = script(`
local function mark(key, head, owned, retention, done)
  local value = redis.call('GET', key)
  -- Nearly every key.
  if value and string.sub(value, 1, #head) == head and string.find(value, owned, 1, true) then
    redis.call('SET', key, done, 'PX', retention)
    return 'marked'
  end
  local digest, token = string.match(owned, '^|([^|]*)|([^|]*)|$')
  local state, fence, attempts, doubt, fp, owner = parse(value)
  if not state then return 'unreadable'
  elseif state == 'D' then
    -- Written once more, so that what waits for replicas or for the disk behind this script waits for this mark too.
    redis.call('SET', key, value, 'KEEPTTL')
    return isOf(token, owner, value) and 'already-marked' or 'refused-done'
  elseif state == 'P' and owner ~= token then return 'refused-busy'
  end
  -- Fences do not go down: where there is a record, its own counts.
  if state ~= 'A' then done = withFence(done, fence, owned) end
  redis.call('SET', key, done, 'PX', retention)
  return state == 'P' and 'marked' or 'marked-late'
end
local out = {}
for i, key in ipairs(KEYS) do
  out[i] = mark(key, ARGV[4 * i - 3], ARGV[4 * i - 2], ARGV[4 * i - 1], ARGV[4 * i])
end
return out
`)

/** As they are made here, a byte for each character. Anything else takes the long form. */
const SHORT_DIGEST = /^[\w-]{22}$/
const SHORT_TOKEN = /^[\w-]{12}$/

export function markArguments(
  { digest, token, fence, retentionMs }: Claim,
  result: Result | undefined = '',
): readonly Argument[] {
  const done =
    fence < 10 && SHORT_DIGEST.test(digest) && SHORT_TOKEN.test(token)
      ? `d${fence}${digest}${token.slice(0, 4)}${result}`
      : `D|${fence}|0|0|${digest}|${token}|${result}`
  return [`P|${fence}|`, `|${digest}|${token}|`, wholeMs(retentionMs), done]
}
