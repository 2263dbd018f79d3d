import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import type { Command } from 'commander'
import { newProgram } from '../../../cli/program.ts'

const commands = allOf(newProgram(() => undefined))
const lists = commands.flatMap((command) =>
  command.options
    .filter(({ variadic, argChoices }) => variadic && argChoices === undefined)
    .map(({ long }) => [`${command.name()} ${long}`, command.name(), String(long)] as const),
)

function allOf(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(allOf)]
}

function parsed(name: string, words: readonly string[]): Readonly<Record<string, unknown>> {
  const command = allOf(newProgram(() => undefined)).find((one) => one.name() === name)
  if (command === undefined) throw new Error(`no command ${name}`)
  const { unknown } = command
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .parseOptions([...words])
  expect(unknown).toEqual([])
  return command.opts()
}

describe('an option that takes names', () => {
  it.each(lists)('is one list however it is written: %s', (_, name, long) => {
    const field = long.slice(2).replaceAll(/-(\w)/g, (__, letter: string) => letter.toUpperCase())
    const ways = [['a,b,c'], ['a, b,c'], ['a', 'b', 'c'], ['a,b', 'c'], ['a', long, 'b,c']]
    for (const words of ways) expect(parsed(name, [long, ...words])[field]).toEqual(['a', 'b', 'c'])
    for (const empty of ['', 'a,', ',', 'a,,b']) expect(() => parsed(name, [long, empty])).toThrow('Expected names')
  })
})

describe('the table of options in docs/dashboard.md', () => {
  const rows = [...readFileSync('docs/dashboard.md', 'utf8').matchAll(/^\| `(--[^`]+)`/gm)].map(
    ([, typed = '']) => typed,
  )

  it.each(rows)('has what the tool takes: %s', (typed) => {
    const words = [...typed.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
    expect(Object.keys(parsed('dashboard', words)).length).toBeGreaterThan(0)
  })

  it('hides two fields with --redact to,text', () => {
    expect(rows.some((row) => row.endsWith('--redact to,text'))).toBe(true)
    expect(parsed('dashboard', ['--show-payload', '--redact', 'to,text'])).toMatchObject({
      showPayload: true,
      redact: ['to', 'text'],
    })
  })
})
