import { createHash } from 'node:crypto'

/** A script may be sent any number of times: with the same tokens it answers as if the first had been the only one. */
export interface Script {
  readonly lua: string
  readonly sha: string
  /** What the letters of its first answer stand for; `undefined`: it has an answer for each key. */
  readonly letters: Letters | undefined
}

/** By letter. `-`: its own answer follows. */
export type Letters = Readonly<Record<string, string>>

/** As this library makes digests. */
export const DIGEST_CHARACTERS = 22

/** A byte for each character, and nothing that tells fields apart. */
export const ARE_PLAIN: RegExp = /^[\w-]*$/

/**
 * Before each script: what a key holds, as `S|fence|attempts|doubt|fp|token|rest`.
 *
 * S: P processing (rest: lease deadline, ms of the server's clock), R released (rest: empty, or `notBefore|cause`, where 0 is
 * at once), D done (rest: result), G given up (rest: reason), X parked (rest: reason); `A` stands for absent, and nil for what
 * cannot be read: of another type, cut off, or of a newer version. The TTL of the key is the retention of the record; X has none.
 *
 * The token of G and X is followed by a line break, since when they are set aside, another line break, and the cause, in which
 * `%` and `|` are written `%25` and `%7C`. Version 0.1 takes all of that for a token that is not its own, and what follows the
 * last bar of R for nothing: it reads what this version writes.
 *
 * What is done is kept for days, so it has a short form too: `d`, fence (one digit), fp (22 characters), the first 4 of the
 * token, result. 28 characters, where Redis 7 takes 161 bytes for a key; one more would cost 16. Of the token only a mark that
 * is sent again is recognised.
 */
const RECORD = `
local function parse(value)
  if not value then return 'A', '0', '0', '0', '', '', '' end
  -- A value of another type comes as a table, with an error in it.
  if type(value) ~= 'string' then return nil end
  if string.find(value, '^d[1-9]') and #value >= 28 then
    return 'D', string.sub(value, 2, 2), '0', '0', string.sub(value, 3, 24), string.sub(value, 25, 28), string.sub(value, 29)
  end
  local state, fence, attempts, doubt, fp, owner, rest =
    string.match(value, '^([PRDGX])|(%d+)|(%d+)|([01])|([^|]*)|([^|]*)|(.*)$')
  if state == 'P' and not string.find(rest, '^%d+$') then return nil end
  return state, fence, attempts, doubt, fp, owner, rest
end
local function get(key)
  local value = redis.pcall('GET', key)
  -- A value of another type is the record's own fault. A right that is missing is not: it must not make all records unreadable.
  if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then error(value.err) end
  return value
end
local function read(key)
  return parse(get(key))
end
-- Whether the owner of what is done, in value, is this one.
local function isOf(token, owner, value)
  return owner == (string.byte(value) == 100 and string.sub(token, 1, 4) or token)
end
-- What is done, with another fence. owned: |fp|token|
local function withFence(done, fence, owned)
  if string.byte(done) == 68 then return 'D|' .. fence .. string.match(done, '^D|%d+(.*)$') end
  if string.find(fence, '^[1-9]$') then return 'd' .. fence .. string.sub(done, 3) end
  return 'D|' .. fence .. '|0|0' .. owned .. string.sub(done, 29)
end
`

export function script(lua: string, letters?: Letters): Script {
  const whole = RECORD + lua
  return { lua: whole, sha: createHash('sha1').update(whole).digest('hex'), letters }
}
