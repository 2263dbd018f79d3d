/**
 * Returns when done records were marked, in ms with 13 digits, or an empty text if that is unknown. A record that a person decided
 * about has the time in its value. Any other has a TTL that began at its mark: it tells the time if all records of the
 * scope were kept for the same time, which the times of the scope show (since.ts). So a done record needs no more
 * bytes.
 */
export const MARKED_AT: string = `
local function markedAtBy(times, now)
  local isRead, first, retention = false, nil, nil
  -- The only retention of which there may be records; nil: several, or none is known.
  local function read()
    isRead = true
    first = tonumber(string.match(times or '', '^%d+'))
    for kept, untilMs in string.gmatch(times or '', '|(%d+):(%d+)') do
      if untilMs + kept > now then
        if retention then retention = nil return end
        retention = tonumber(kept)
      end
    end
  end
  return function(key, owner)
    local told = string.match(owner, '^[^\\n]*\\n(%d+)\\n')
    if told then return told end
    if not isRead then read() end
    if not retention then return '' end
    -- A user may lack the right to it, which nothing else needs but the lists of people.
    local left = redis.pcall('PTTL', key)
    if type(left) ~= 'number' then
      retention = nil
      return ''
    end
    local at = now + left - retention
    -- Beyond these it was kept for another time, by a version that does not note its retention. PTTL reads the clock a
    -- few ms before TIME does.
    return at >= first - 1000 and at <= now + 1000 and string.format('%013.0f', math.min(at, now)) or ''
  end
end
`
