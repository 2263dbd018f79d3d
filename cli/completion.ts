import { Argument, type Command, type Help } from 'commander'
import { EXIT } from './exit.ts'
import { printText } from './output.ts'
import type { End } from './session.ts'

const EXAMPLES = `
Examples:
  eval "$(consume-once completion bash)"                                            in ~/.bashrc
  eval "$(consume-once completion zsh)"                                             in ~/.zshrc, after compinit
  consume-once completion fish > ~/.config/fish/completions/consume-once.fish       once for each version

Exit code 0: printed. 2: usage.`

const SHELLS = { bash, zsh, fish } as const

export function addCompletion(program: Command, end: End): void {
  program
    .command('completion')
    .description('Prints what completes commands and options in your shell.')
    .addArgument(new Argument('<shell>', 'which one').choices(Object.keys(SHELLS)))
    .addHelpText('after', EXAMPLES)
    .allowExcessArguments(false)
    .action((shell: keyof typeof SHELLS) => {
      printText(SHELLS[shell](levelsOf(program)))
      end(EXIT.ok)
    })
}

interface Offered {
  readonly word: string
  readonly about: string
  /** An option: its values, where they are a few words. */
  readonly values?: readonly string[]
}

/** The program, or a command with its own. */
interface Level {
  /** Such as `replay plan`; empty for the program. */
  readonly path: string
  readonly commands: readonly Offered[]
  readonly options: readonly Offered[]
  /** What an argument may be: its choices. */
  readonly values: readonly string[]
}

/** What the help of each command shows, no more and no less. */
function levelsOf(command: Command, path = '', help: Help = command.createHelp()): readonly Level[] {
  const commands = help.visibleCommands(command)
  const own: Level = {
    path,
    commands: commands.map((one) => ({ word: one.name(), about: help.subcommandDescription(one) })),
    options: help.visibleOptions(command).map(({ long, short, description, argChoices }) => ({
      word: long ?? short ?? '',
      about: description,
      ...(argChoices === undefined ? {} : { values: argChoices }),
    })),
    values: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
  }
  // `help` takes the name of a command, and has nothing of its own.
  const below = commands.filter((one) => one.name() !== 'help')
  return [own, ...below.flatMap((one) => levelsOf(one, `${path} ${one.name()}`.trim(), help))]
}

function bash(levels: readonly Level[]): string {
  const paths = levels.flatMap(({ path }) => (path === '' ? [] : [`"${path}"`]))
  const values = levels.flatMap(({ path, options }) =>
    options.flatMap(({ word, values: some }) => (some === undefined ? [] : [branch(`${path} ${word}`.trim(), some)])),
  )
  const words = levels.map(({ path, commands, options, values: some }) =>
    branch(path, [...some, ...[...commands, ...options].map(({ word }) => word)]),
  )
  return `# Completion of consume-once, by bash and by zsh.
_consume_once() {
  local path="" words="" at word
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="\${COMP_WORDS[at]}"
    case "\${path:+$path }$word" in
    ${paths.join(' | ')}) path="\${path:+$path }$word" ;;
    esac
  done
  case "\${path:+$path }\${COMP_WORDS[COMP_CWORD - 1]}" in
${values.join('\n')}
  esac
  [ -n "$words" ] || case "$path" in
${words.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _consume_once consume-once`
}

function zsh(levels: readonly Level[]): string {
  return `autoload -Uz bashcompinit && bashcompinit\n${bash(levels)}`
}

function fish(levels: readonly Level[]): string {
  return levels
    .flatMap(({ path, commands, options, values }) => {
      const seen = path.split(' ').filter((name) => name !== '')
      const none = `not __fish_seen_subcommand_from ${commands.map(({ word }) => word).join(' ')}`
      const when = [
        ...seen.map((name) => `__fish_seen_subcommand_from ${name}`),
        ...(commands.length === 0 ? [] : [none]),
      ].join('; and ')
      const line = (rest: string): string =>
        `complete -c consume-once${when === '' ? '' : ` -n ${quoted(when)}`} ${rest}`
      return [
        ...commands.map(({ word, about }) => line(`-f -a ${word} -d ${quoted(about)}`)),
        ...(values.length === 0 ? [] : [line(`-f -a ${quoted(values.join(' '))}`)]),
        ...options.map(({ word, about, values: some }) => {
          const name = word.startsWith('--') ? `-l ${word.slice(2)}` : `-s ${word.slice(1)}`
          return line(`${name} -d ${quoted(about)}${some === undefined ? '' : ` -x -a ${quoted(some.join(' '))}`}`)
        }),
      ]
    })
    .join('\n')
}

function branch(pattern: string, words: readonly string[]): string {
  return `    "${pattern}") words="${words.join(' ')}" ;;`
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`
}
