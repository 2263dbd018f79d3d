import { describe, expect, it } from '@jest/globals'
import { idsIn } from '../../../src/people/id-list.ts'

describe('a list of IDs', () => {
  it.each([
    ['a byte order mark', '\uFEFFa\nb\n', ['a', 'b']],
    ['blanks around lines, and blank lines', ' a \n\n\tb\t\n   \n', ['a', 'b']],
    ['line ends of Windows and of old Macs', 'a\r\nb\rc', ['a', 'b', 'c']],
    ['repeated lines', 'a\nb\na\n', ['a', 'b']],
    ['blanks, commas and quotes inside of some IDs', 'order 1\na,b\nit"s\n', ['order 1', 'a,b', 'it"s']],
    ['one word that a heading may be', 'id\n', ['id']],
  ])('may have %s', (_, text, ids) => {
    expect(idsIn(text)).toEqual(ids)
  })

  it.each([
    ['nothing', '', 'got none'],
    ['blanks alone', ' \n\t\n', 'got none'],
    ['a JSON array', '["a",\n "b"]', 'looks like JSON'],
    ['a JSON object a line', '{"id":"a"}\n{"id":"b"}', 'line 1 looks like JSON'],
    ['quotes', 'a\n"b"\n', 'line 2 is in quotes'],
    ['single quotes, as of a list in SQL', "'a',\n'b'", 'line 1 is in quotes'],
    ['CSV', 'a,1\nb,2\n', 'every line has a comma'],
    ['CSV of Excel in Europe', 'a;1\nb;2;3\n', 'every line has a semicolon'],
    ['columns with tabs', 'a\t1\n', 'line 1 has a tab'],
    ['the table of psql', ' id \n----\n a\n(1 row)\n', 'line 2 looks like the table of a database client'],
    ['the table of mysql', '| a |\n| b |\n', 'every line has a vertical bar'],
    ['a heading', 'message_id\na\n', 'line 1 looks like a heading'],
    ['an ID that is too long', `a\n${'x'.repeat(513)}`, 'line 2: the message ID is longer than 512 bytes'],
  ])('is refused with %s', (_, text, problem) => {
    expect(idsIn(text)).toContain(problem)
  })

  it('is taken as it is if somebody says so', () => {
    expect(idsIn('\uFEFF"a,1"\r\n b \n', { isRaw: true })).toEqual(['"a,1"', ' b '])
    expect(idsIn('\n', { isRaw: true })).toContain('got none')
  })
})
