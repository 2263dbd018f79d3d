import { createHash } from 'node:crypto'

/**
 * A script can be sent any number of times: with the same tokens it answers as if the first call had been the only one.
 */
export interface Script {
  readonly lua: string
  readonly sha: string
  /** Meaning of the letters in its first answer; `undefined`: it has an answer for each key. */
  readonly letters: Letters | undefined
}

/**
 * Answer for each letter. `-` means that the key has an answer of its own. `#` stands for `FILLED_CHARACTERS` that
 * follow the letter.
 */
export type Letters = Readonly<Record<string, string>>

/** A time in ms, until the year 2286. */
export const FILLED_CHARACTERS = 13

/** Length of the digests of this library. */
export const DIGEST_CHARACTERS = 22

/** One byte for each character, and no field separator. */
export const ARE_PLAIN: RegExp = /^[\w-]*$/

/**
 * Prefix of each script. It parses the value of a key, `S|fence|attempts|doubt|fp|owner|rest`.
 *
 * S: P processing (rest: lease deadline, ms of the server's clock), R released (rest: empty, or `notBefore|cause`,
 * where 0 means at once), D done (rest: result), G given up (rest: reason), X parked (rest: reason). `A` means absent,
 * and nil means unreadable: another type, truncated, or of a newer version. The TTL of the key is the retention of the
 * record; X has none.
 *
 * The owner is the token of the last claim, `~` and the tag of its scope (owners.ts): people look at, and decide about,
 * the records of one scope. What is done has the token only: a mark drops the tag.
 *
 * In G and X the owner is followed by a line break, the time of the set-aside, another line break, and the cause, in
 * which `%` and `|` are written as `%25` and `%7C`. In D, if a person has decided that it is done, by the time of the
 * decision between line breaks; marked-at.ts says when the others were marked.
 *
 * A done record is kept for days, so it also has a short form: `d`, fence (one digit), fp (22 characters), the first 4
 * characters of the token, result. That is 28 characters, for which Redis 7 needs 161 bytes per key; one more character
 * would cost 16 bytes. The token is only needed to recognise a mark that is sent again.
 */
const RECORD = `
local function parse(value)
  if not value then return 'A', '0', '0', '0', '', '', '' end
  -- For a value of another type, pcall returns a table with an error.
  if type(value) ~= 'string' then return nil end
  if string.find(value, '^d[1-9]') and #value >= 28 then
    return 'D', string.sub(value, 2, 2), '0', '0', string.sub(value, 3, 24), string.sub(value, 25, 28), string.sub(value, 29)
  end
  local state, fence, attempts, doubt, fp, owner, rest =
    string.match(value, '^([PRDGX])|(%d+)|(%d+)|([01])|([^|]*)|([^|]*)|(.*)$')
  if state == 'P' and not string.find(rest, '^%d+$') then return nil end
  return state, fence, attempts, doubt, fp, owner, rest
end
-- The token of an owner, without the tag of the scope, and without time and cause.
local function bare(owner)
  return string.match(owner, '^[^~\\n]*')
end
local function get(key)
  local value = redis.pcall('GET', key)
  -- Only a value of another type makes a record unreadable. A missing right must not.
  if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then error(value.err) end
  return value
end
local function read(key)
  return parse(get(key))
end
-- True if token is the owner of the done record in value.
local function isOf(token, owner, value)
  return bare(owner) == (string.byte(value) == 100 and string.sub(token, 1, 4) or bare(token))
end
-- The done record with another fence. owned: |fp|owner|
local function withFence(done, fence, owned)
  if string.byte(done) == 68 then return 'D|' .. fence .. string.match(done, '^D|%d+(.*)$') end
  if string.find(fence, '^[1-9]$') then return 'd' .. fence .. string.sub(done, 3) end
  return 'D|' .. fence .. '|0|0' .. string.gsub(owned, '~[^|]*', '') .. string.sub(done, 29)
end
`

export function script(lua: string, letters?: Letters): Script {
  const whole = RECORD + lua
  return { lua: whole, sha: createHash('sha1').update(whole).digest('hex'), letters }
}
