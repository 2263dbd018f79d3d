import { expect, it } from '@jest/globals'
import { changedLua } from '../../../lab/mutants/change-lua.ts'
import { changed, type Change } from '../../../lab/mutants/change.ts'

it.each<[change: Change, source: string, result: string]>([
  ['remove', 'if (a) b()', ';'],
  ['remove', '({ a,\n b: 1, c })', '({ a,\n  c })'],
  ['remove', '[a,\n b, c]', '[a,\n  c]'],
  ['always', 'while (a) b()', 'while (true) b()'],
  ['never', 'x = a && b ? c : d', 'x = false ? c : d'],
  ['dropAwait', 'f(await g())', 'f(void (g()).catch(() => {}))'],
  [{ dropOperand: 1 }, 'if (a || b || c) d()', 'if (((a) || (c))) d()'],
  [{ argument: 1, is: 'true' }, 'f(a, b, g(c, d))', 'f(a, true, g(c, d))'],
  [{ value: '1' }, 'function f() {\n return a }', 'function f() {\n return (1) }'],
  [{ value: (a) => `-${a}` }, 'f((a) => a)', 'f((a) => (-a))'],
  [{ text: ' and a', is: '' }, 'f(`b`,\n { c: `x and a`, d: `y` })', 'f(`b`,\n { c: `x`, d: `y` })'],
  [{ call: ({ on, args }) => `${on}.h(${args.join()})` }, 'g(k)\na.f(b, c(d))', 'g(k)\na.h(b,c(d))'],
  [{ innerCall: ({ callee }) => `${callee}()` }, 'a.f(b, c(d))', 'a.f(b, c())'],
  [{ binary: (left, right) => `${right} + ${left}` }, 'if (a && b - c) d()', 'if (a && (c + b)) d()'],
  [
    { first: (a) => `${a}++` },
    'class A {\n f(a: number) { return a } }',
    'class A {\n f(a: number) { a++; return a } }',
  ],
  [{ instead: (source) => `if (x) ${source}` }, 'a()', 'if (x) a()'],
])('%j changes the first such node that begins on the line', (change, source, result) => {
  expect(changed(source, source.split('\n').length - 1, change)).toBe(result)
})

it.each<[change: Change, source: string, problem: string]>([
  ['always', 'a()', 'no condition begins on the line'],
  [{ text: 'a', is: '' }, "f('a', 'a')", 'expected one literal with a'],
  [{ value: '1 +' }, 'x = 1', 'it does not parse'],
])('%j of %j is an error', (change, source, problem) => {
  expect(() => changed(source, 0, change)).toThrow(problem)
})

it.each<[change: Change, line: string, result: string]>([
  ['remove', 'if a then b() end', ''],
  [{ dropOperand: 1 }, "  elseif a or b == 'x' then c() end", '  elseif a then c() end'],
  [{ dropOperand: 0 }, "local a = 'b' .. c", 'local a = c'],
  [{ text: ", 'x'", is: '' }, "f(a, 'x')", 'f(a)'],
])('%j changes a line of Lua', (change, line, result) => {
  expect(changedLua(`a()\n${line} -- mutant: m\nb()`, 1, change)).toBe(`a()\n${result}\nb()`)
})

it.each<[change: Change, line: string]>([
  ['always', 'if a then b() end'],
  [{ dropOperand: 2 }, 'if a or b then c() end'],
  [{ text: 'x', is: '' }, 'f(xx)'],
])('%j of %j is an error', (change, line) => {
  expect(() => changedLua(line, 0, change)).toThrow(Error)
})
