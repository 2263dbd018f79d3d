import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import { canonicalText, pathsOf } from '../../../src/core/canonical-json.ts'
import { pointerPath } from '../../../src/core/json-pointer.ts'
import { canonicalNumber, MOST_LEVELS, parseJsonTree } from '../../../src/core/json-tree.ts'

function paths(pointers: readonly string[] | undefined): ReturnType<typeof pathsOf> | undefined {
  return pointers && pathsOf(pointers.map((pointer) => pointerPath(pointer) ?? []))
}

function canonical(
  text: string,
  { include, omit }: { readonly include?: readonly string[]; readonly omit?: readonly string[] } = {},
): string | undefined {
  return canonicalText(parseJsonTree(text), { include: paths(include), omit: paths(omit) }, new Set())
}

describe('canonical JSON', () => {
  // https://github.com/cyberphone/json-canonicalization/tree/master/testdata
  it.each([
    ['arrays', '[56,{"d":true,"10":null,"1":[]}]', '[56,{"1":[],"10":null,"d":true}]'],
    [
      'french',
      '{"peach":"This sorting order","péché":"is wrong according to French","pêche":"but canonicalization MUST","sin":"ignore locale"}',
      '{"peach":"This sorting order","péché":"is wrong according to French","pêche":"but canonicalization MUST","sin":"ignore locale"}',
    ],
    [
      'structures',
      '{"1":{"f":{"f":"hi","F":5},"\\n":56.0},"10":{},"":"empty","a":{},"111":[{"e":"yes","E":"no"}],"A":{}}',
      '{"":"empty","1":{"\\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}',
    ],
    ['unicode', '{"Unnormalized Unicode":"A\\u030a"}', '{"Unnormalized Unicode":"A\u030a"}'],
    [
      'values',
      '{"numbers":[1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
      '{"literals":[null,true,false],"numbers":[1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    ],
    [
      'weird',
      '{"\\u20ac":"Euro Sign","\\r":"Carriage Return","\\u000a":"Newline","1":"One","\\u0080":"Control\\u007f","\\ud83d\\ude02":"Smiley","\\u00f6":"Latin Small Letter O With Diaeresis","\\ufb33":"Hebrew Letter Dalet With Dagesh","</script>":"Browser Challenge"}',
      '{"\\n":"Newline","\\r":"Carriage Return","1":"One","</script>":"Browser Challenge","\u0080":"Control\u007f","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😂":"Smiley","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    ],
  ])('is that of RFC 8785: %s', (_, input, output) => {
    expect(canonical(input)).toBe(output)
  })

  it.each([
    ['1.0', '1'],
    ['1e0', '1'],
    ['-0', '0'],
    ['-0.0e5', '0'],
    ['0.000001', '0.000001'],
    ['1e-7', '1e-7'],
    ['1e21', '1e+21'],
    ['999999999999999900000', '999999999999999900000'],
    ['5e-324', '5e-324'],
    ['1.7976931348623157e308', '1.7976931348623157e+308'],
    ['9007199254740992', '9007199254740992'],
  ])('writes the number %s as %s, as RFC 8785 does', (token, text) => {
    expect(canonicalNumber(token)).toBe(text)
  })

  it.each([
    ['9007199254740993', '9007199254740993'],
    ['12345678901234567890123', '12345678901234567890123'],
    ['1e400', '1e400'],
    ['1e-400', '1e-400'],
    // RFC 8785 would write 333333333.3333333.
    ['333333333.33333329', '33333333333333329e-8'],
  ])('keeps the digits of %s, which a double would round', (token, text) => {
    expect(canonicalNumber(token)).toBe(text)
  })

  it('writes two numbers alike only if they are equal', () => {
    const number = fc.tuple(fc.bigInt(-(10n ** 30n), 10n ** 30n), fc.integer({ min: -40, max: 40 }))
    fc.assert(
      fc.property(number, number, ([a, i], [b, j]) => {
        const isEqual = a * 10n ** BigInt(i + 40) === b * 10n ** BigInt(j + 40)
        expect(canonicalNumber(`${a}e${i}`) === canonicalNumber(`${b}e${j}`)).toBe(isEqual)
      }),
    )
  })

  it('reads what JSON.parse reads, and writes what it means, in any order of members', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = canonical(JSON.stringify(value, undefined, 1)) ?? ''
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
        expect(canonical(text)).toBe(text)
      }),
    )
  })

  it('does not take one normal form of Unicode for another, nor `__proto__` for anything but a name', () => {
    expect(canonical('{"a":"\u00e9"}')).not.toBe(canonical('{"a":"e\u0301"}'))
    expect(canonical('{"__proto__":1}')).toBe('{"__proto__":1}')
    expect(canonical('{"__proto__":{"a":1},"b":2}')).not.toBe(canonical('{"b":2}'))
  })

  it.each([
    ['a name that comes twice', '{"a":1,"b":{"c":1,"\\u0063":2}}', 'an object has a name twice'],
    ['a lone surrogate', '{"a":"\\ud800"}', 'a lone surrogate'],
    ['a lone surrogate in a name', '{"\\udc00":1}', 'a lone surrogate'],
    ['nothing', '', 'the text ends before its JSON does'],
    ['half a text', '{"a":[1,', 'the text ends before its JSON does'],
    ['a string without its end', '"a', 'the text ends before its JSON does'],
    ['two texts', '{} {}', 'character 3 is no JSON'],
    ['a comma at the end', '[1,]', 'character 3 is no JSON'],
    ['a leading zero', '01', 'character 1 is no JSON'],
    ['a plus', '+1', 'character 0 is no JSON'],
    ['NaN', 'NaN', 'character 0 is no JSON'],
    ['a comment', '/**/1', 'character 0 is no JSON'],
    ['a control character', '"\u0001"', 'character 1 is no JSON'],
    ['an unknown escape', '"\\x"', 'an escape at character 0 that is no JSON'],
    ['an exponent of ten digits', '1e1234567890', 'a number out of all range'],
    ['1,000 levels', `${'['.repeat(1_000)}${']'.repeat(1_000)}`, `more than ${MOST_LEVELS} levels`],
  ])('refuses %s', (_, text, message) => {
    expect(() => canonical(text)).toThrow(message)
  })

  it('reads any text that JSON.parse reads, and no other', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"b"',
      '"\\u00e9"',
      '1',
      '-',
      '.5',
      'e1',
      'true',
      'null',
      ' ',
      '\\',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('')
        const [ours, theirs] = [reads(() => parseJsonTree(text)), reads(() => JSON.parse(text) as unknown)]
        expect(ours === theirs || (theirs === 'read' && ours === 'an object has a name twice')).toBe(true)
      }),
      { numRuns: 5_000 },
    )
  })
})

function reads(parse: () => unknown): string {
  try {
    parse()
    return 'read'
  } catch (error) {
    const { message } = error as Error
    return message.includes('twice') ? message : 'refused'
  }
}

describe('the parts of a payload that count', () => {
  const order = '{"id":7,"geo":{"lat":1,"lon":2},"items":[{"sku":"a","at":1},{"sku":"b","at":2}]}'

  it.each([
    [['/geo'], '{"id":7,"items":[{"at":1,"sku":"a"},{"at":2,"sku":"b"}]}'],
    [['/geo/*', '/items/*/at'], '{"geo":{},"id":7,"items":[{"sku":"a"},{"sku":"b"}]}'],
    [['/items/0'], '{"geo":{"lat":1,"lon":2},"id":7,"items":[{"at":2,"sku":"b"}]}'],
    [['/nothing', '/id/x'], '{"geo":{"lat":1,"lon":2},"id":7,"items":[{"at":1,"sku":"a"},{"at":2,"sku":"b"}]}'],
    [[''], undefined],
  ])('are all but %j', (omit, text) => {
    expect(canonical(order, { omit })).toBe(text)
  })

  it.each([
    [['/id'], '{"id":7}'],
    [['/geo/lat', '/items/*/sku'], '{"geo":{"lat":1},"items":[{"sku":"a"},{"sku":"b"}]}'],
    [['/items/1'], '{"items":[{"at":2,"sku":"b"}]}'],
    [['/geo', '/geo/lat'], '{"geo":{"lat":1,"lon":2}}'],
    [['/geo/lat/x'], '{"geo":{}}'],
  ])('are only %j', (include, text) => {
    expect(canonical(order, { include })).toBe(text)
  })

  it('are what is included without what is omitted', () => {
    expect(canonical(order, { include: ['/items'], omit: ['/items/*/at'] })).toBe('{"items":[{"sku":"a"},{"sku":"b"}]}')
  })

  it('keeps a member named like an element apart from an array', () => {
    expect(canonical('{"a":{"0":1}}', { include: ['/a/0'] })).not.toBe(canonical('{"a":[1]}', { include: ['/a/0'] }))
  })
})
