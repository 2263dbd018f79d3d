import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it, jest } from '@jest/globals'
import type { Command } from 'commander'
import { newProgram } from '../../cli/program.ts'
import { beforeEachOpen } from '../kit/opened.ts'
import { Cli, WITHIN_MS } from '../kit/cli-process.ts'

const run = promisify(execFile)

jest.setTimeout(WITHIN_MS)

let cli: Cli
beforeEachOpen((own) => (cli = own(new Cli())))

async function script(shell: string): Promise<string> {
  const { exitCode, stdout } = await cli.run(['completion', shell])
  expect(exitCode).toBe(0)
  return stdout
}

/** What a bash offers behind each of these lines, to the last word of it. */
async function offeredBy(lines: readonly (readonly string[])[]): Promise<readonly (readonly string[])[]> {
  const asks = lines.map((words) => {
    const typed = ['consume-once', ...words].map((word) => `'${word}'`).join(' ')
    return `COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _consume_once; echo "\${COMPREPLY[*]}"`
  })
  const { stdout } = await run('bash', ['--norc', '-c', [await script('bash'), ...asks].join('\n')])
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' ').filter((word) => word !== ''))
}

interface Shown {
  readonly path: readonly string[]
  readonly words: readonly string[]
}

/** Each command, with what its help shows. */
function shownBy(command: Command, path: readonly string[] = []): readonly Shown[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command)
  const words = [...commands.map((one) => one.name()), ...help.visibleOptions(command).map(({ long }) => long ?? '')]
  const below = commands.filter((one) => one.name() !== 'help')
  return [{ path, words }, ...below.flatMap((one) => shownBy(one, [...path, one.name()]))]
}

it('bash offers each command and each option that the help shows', async () => {
  const shown = shownBy(newProgram(() => {}).version('1'))
  expect(shown.length).toBeGreaterThan(25)
  const offered = await offeredBy(shown.map(({ path }) => [...path, '']))
  for (const [at, { path, words }] of shown.entries()) {
    expect({ path, words: offered[at] }).toEqual({ path, words: expect.arrayContaining([...words]) })
  }
})

it('bash completes what was begun, values of an option, and a command behind options', async () => {
  expect(
    await offeredBy([
      ['ins'],
      ['inspect', 'sms', '--par'],
      ['replay', 'pl'],
      ['init', '--broker', ''],
      ['completion', 'f'],
      ['--json', 'doc'],
    ]),
  ).toEqual([
    ['inspect'],
    ['inspect', 'sms', '--parked'].slice(2),
    ['plan'],
    ['kafka', 'kafkajs', 'platformatic-kafka', 'rabbitmq'],
    ['fish'],
    ['doctor'],
  ])
})

it('the other shells have the same words', async () => {
  const [zsh, fish] = [await script('zsh'), await script('fish')]
  for (const { path, words } of shownBy(newProgram(() => {}).version('1'))) {
    for (const word of words) {
      expect(zsh).toContain(word)
      const line = word.startsWith('--') ? `-l ${word.slice(2)} ` : `-a ${word} `
      const where = path.map((name) => `__fish_seen_subcommand_from ${name}`).join('; and ')
      expect(fish.split('\n').filter((one) => one.includes(line) && one.includes(where))).not.toEqual([])
    }
  }
})
